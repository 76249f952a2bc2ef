import { execFileSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { mkdir, readdir, truncate } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { MemoryError } from "@memslot/core";
import type { NoteIndex } from "@memslot/indexing";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { createTables, schemaVersion, setPragmas } from "@memslot/indexing/ledger-tables";
import { createWordIndex } from "../words/word-tables.ts";
import { tempFolder } from "@memslot/test-tools/files";
import {
  edit,
  harm,
  spoilTable,
  embedAll,
  fileOf,
  find,
  near,
  open,
  openWith,
  spaceOf,
  tempPath,
  vectorOf,
  runChild,
  expectIntegrity,
} from "../test/stores.ts";

const manyFiles = Array.from({ length: 200 }, (_, index) =>
  fileOf(`${index}.md`, [`note number${index} ${"filler ".repeat(200)}`]),
);

async function filled(path: string): Promise<void> {
  const store = await open(path);
  await store.replaceFiles(manyFiles);
  await store.close();
}

/** It answers rightly for what is put in, keeps it in memory, and says why in one line. */
async function expectInMemory(store: NoteIndex, path: string, why: RegExp): Promise<void> {
  const { location, notices } = store.health();
  expect(location).toBe(":memory:");
  expect(notices).toHaveLength(1);
  expect(notices[0]).toContain(path);
  expect(notices[0]).toMatch(why);
  expect(notices[0]).toContain("store.path");
  expect(notices[0]).not.toContain("\n");
  expect(await store.listFiles()).toEqual([]);
  await store.replaceFiles([fileOf("a.md", ["word one"])]);
  expect(await find(store, "word")).toEqual(["word one"]);
  expect((await store.stats()).databaseBytes).toBeGreaterThan(0);
  await store.close();
}

async function expectRepaired(path: string, why: RegExp): Promise<void> {
  const before = readFileSync(path);
  const store = await open(path);
  const { location, notices } = store.health();
  expect(location).toBe(path);
  expect(notices).toHaveLength(1);
  expect(notices[0]).toMatch(why);
  expect(await store.listFiles()).toEqual([]);
  await store.replaceFiles([fileOf("a.md", ["word one"])]);
  await store.close();

  const names = await readdir(dirname(path));
  const aside = names.filter((name) => name.startsWith(`${basename(path)}.corrupt-`) && !/-(?:wal|shm)$/u.test(name));
  expect(aside).toHaveLength(1);
  expect(notices[0]).toContain(join(dirname(path), aside[0] ?? ""));
  expect(readFileSync(join(dirname(path), aside[0] ?? "")).equals(before)).toBe(true);
  const again = await open(path);
  expect(again.health().notices).toEqual([]);
  expect(await find(again, "word")).toEqual(["word one"]);
  await again.close();
}

/** Puts something at the path that is not an index. */
const foreign: Readonly<Record<string, { why: RegExp; make: (path: string) => void }>> = {
  text: { why: /not a SQLite database/u, make: (path) => writeFileSync(path, "# My notes\n\nNot a database.\n") },
  zeros: { why: /not a SQLite database/u, make: (path) => writeFileSync(path, Buffer.alloc(8192)) },
  "binary data": {
    why: /not a SQLite database/u,
    make: (path) => writeFileSync(path, Buffer.from(Array.from({ length: 5000 }, (_, index) => index % 251))),
  },
  "a database of another program": {
    why: /another program/u,
    make: (path) =>
      edit(path, (db) => {
        db.pragma("journal_mode = WAL");
        db.exec("CREATE TABLE chunks (a); INSERT INTO chunks VALUES (1)");
      }),
  },
  "a folder": { why: /is a folder/u, make: (path) => mkdirSync(path) },
  "a pipe": { why: /not a regular file/u, make: (path) => execFileSync("mkfifo", [path]) },
};

test.each(Object.keys(foreign))("%s at the path is never touched: the index is kept in memory", async (kind) => {
  if (kind === "a pipe" && process.platform === "win32") return;
  const path = join(tempFolder(), "mine.sqlite");
  const { why, make } = foreign[kind] ?? expect.fail();
  make(path);
  if (statSync(path).isFile()) chmodSync(path, 0o644);
  const state = (): unknown[] => [statSync(path).mtimeMs, statSync(path).mode, statSync(path).size];
  const content = (): Buffer | undefined => (statSync(path).isFile() ? readFileSync(path) : undefined);
  const before = [state(), content()];
  await expectInMemory(await open(path), path, why);
  expect([state(), content()]).toEqual(before);
  expect(await readdir(dirname(path))).toEqual(["mine.sqlite"]);
});

test("a later release that still has its number in the log is seen too", async () => {
  const path = await tempPath();
  await filled(path);
  const other = new Database(path);
  try {
    other.pragma(`user_version = ${schemaVersion + 1}`);
    expect(readFileSync(path).readInt32BE(60)).toBe(schemaVersion);
    await expectInMemory(await open(path), path, /later release/u);
    expect(other.prepare("SELECT count(*) FROM files").pluck().get()).toBe(manyFiles.length);
  } finally {
    other.close();
  }
});

/** Damage to an index that is closed, and the notice about it. */
const damages: readonly (readonly [what: string, why: RegExp, damage: (path: string) => void])[] = [
  ...[0.9, 0.5, 0.01].map(
    (share) =>
      [`cut to ${share} of its length`, /damaged/u, (path: string) => cut(path, statSync(path).size * share)] as const,
  ),
  ["cut to 99 bytes", /ends after 99 bytes/u, (path) => cut(path, 99)],
  ["cut to 10 bytes", /ends after 10 bytes/u, (path) => cut(path, 10)],
  [
    "with a spoilt schema",
    /damaged/u,
    (path) => {
      const file = openSync(path, "r+");
      writeSync(file, Buffer.alloc(4000, 0x5a), 0, 4000, 100);
      closeSync(file);
    },
  ],
  ["without one of its tables", /no such table: chunks/u, (path) => harm(path, "DROP TABLE chunks")],
  ["without a column", /damaged/u, (path) => harm(path, "ALTER TABLE chunks DROP COLUMN context")],
  ["with a word index that does not open", /damaged/u, (path) => harm(path, "DROP TABLE chunks_fts_1_config")],
];

test.each(damages)("a database %s is set aside and rebuilt", async (_what, why, damage) => {
  const path = await tempPath();
  await filled(path);
  damage(path);
  await expectRepaired(path, why);
});

test("a file that is cut short while it is open does not end the process", async () => {
  const path = await tempPath();
  const child = runChild(["truncate-while-open", path]);
  expect(await child.ended, child.output()).toBe(0);
  expect(child.output()).toMatch(/^0 rows\nthe index .* was damaged/u);
  expect(child.output()).toContain("alive with 1 file");
});

test("tables that another process makes while this one waits for the lock are kept", async () => {
  const path = await tempPath();
  await mkdir(dirname(path));
  const other = new Database(path);
  setPragmas(other);
  other.exec("BEGIN");
  // Takes the lock. Outside of a transaction it would write a first page, and the file would pass for another
  // program's.
  other.pragma("auto_vacuum = INCREMENTAL");
  const opening = open(path);
  await new Promise((resolve) => setTimeout(resolve, 400));
  createTables(other, "memory-core", (db, generation) => db.exec(createWordIndex(generation)));
  other.exec(
    `INSERT INTO files (generation, path, source, hash, mtime, size, recipe, chunks, chunk_bytes)
       VALUES (1, 'a.md', 'memory', 'h', 1, 1, '1', 0, 0); COMMIT`,
  );
  other.close();
  const store = await opening;
  expect((await store.listFiles()).map((file) => file.path)).toEqual(["a.md"]);
});

test("a database of which nothing is left is filled again, and the log of the old one does not come back", async () => {
  const path = await tempPath();
  const child = runChild(["write-files", path, "old", "0"]);
  await child.line("wrote");
  child.process.kill("SIGKILL");
  await child.ended;
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
  await truncate(path, 0);
  const store = await open(path);
  expect(store.health()).toMatchObject({ location: path, notices: [] });
  expect(await store.listFiles()).toEqual([]);
  await store.replaceFiles([fileOf("a.md", ["word"])]);
  expect(await find(store, "word")).toEqual(["word"]);
});

test("after a process died while it wrote, the whole file is checked; after a clean close it is not", async () => {
  const path = await tempPath();
  await filled(path);
  spoilTable(path, "chunks");
  const unchecked = await open(path);
  expect(unchecked.health().notices).toEqual([]);
  await unchecked.close();

  markDeadWriter(path, await deadProcess());
  const checked = await open(path);
  expect(checked.health().notices[0]).toMatch(/was damaged/u);
});

test("a sound file whose writer died is used on, and is not checked again", async () => {
  const path = await tempPath();
  const child = runChild(["write-files", path, "p", "0"]);
  await child.line("wrote");
  child.process.kill("SIGKILL");
  await child.ended;
  const marks = (): number =>
    edit(
      path,
      (db) => db.prepare<[], number>("SELECT count(*) FROM meta WHERE key LIKE 'writer:%'").pluck().get() ?? -1,
    );
  expect(marks()).toBe(1);
  const store = await open(path);
  expect(store.health().notices).toEqual([]);
  expect(await store.listFiles()).toHaveLength(20);
  expect(marks()).toBe(0);
  await store.touchFiles([fileOf("p0.md", [])]);
  expect(marks()).toBe(1);
  await store.close();
  expect(marks()).toBe(0);
});

test.each([["all"], ["write"]])(
  "a database that another process keeps locked (%s) is left alone: the index is kept in memory",
  async (kind) => {
    const path = await tempPath();
    await filled(path);
    const child = runChild(["hold-lock", path, kind]);
    await child.line("locked");
    await expectInMemory(await open(path, { busyTimeoutMs: 100 }), path, /locked by another process/u);
  },
);

test("a write that finds the file locked for long fails with the name of the file, and the store goes on after", async () => {
  const path = await tempPath();
  await filled(path);
  const store = await open(path, { busyTimeoutMs: 50 });
  const child = runChild(["hold-lock", path, "write"]);
  await child.line("locked");
  const failure = await store.replaceFiles([fileOf("b.md", ["later"])]).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(MemoryError.is(failure, "UNAVAILABLE")).toBe(true);
  expect(String(failure)).toContain(`${path} is locked by another process`);
  expect(await find(store, "number7")).toHaveLength(1);
  child.process.kill("SIGKILL");
  await child.ended;
  await store.replaceFiles([fileOf("b.md", ["later"])]);
  expect(await find(store, "later")).toEqual(["later"]);
});

test("a write waits longer than one attempt for a process that writes for long", async () => {
  const path = await tempPath();
  const store = await open(path, { busyTimeoutMs: 400 });
  const other = new Database(path);
  try {
    other.exec("BEGIN IMMEDIATE");
    const written = store.replaceFiles([fileOf("a.md", ["word"])]);
    await new Promise((resolve) => setTimeout(resolve, 600));
    other.exec("ROLLBACK");
    await written;
    expect(await find(store, "word")).toEqual(["word"]);
  } finally {
    other.close();
  }
});

test("without FTS5 vector search works alone, and words are made from the texts when it is there again", async () => {
  const path = await tempPath();
  const store = await open(path, { disableFts: true });
  expect(store.health().fts).toMatchObject({ available: false, error: expect.stringContaining("FTS5") });
  await store.replaceFiles([fileOf("a.md", ["word pear"])]);
  expect(
    await store.searchKeyword({ terms: [{ term: "word", prefix: false }], sources: ["memory"], limit: 5 }),
  ).toEqual({
    rows: [],
    chunkCount: 1,
    documentFrequencies: [0],
  });
  await embedAll(store, spaceOf("m"), { use: true });
  expect(await near(store, spaceOf("m"), "word pear")).toEqual(["word pear"]);
  await store.close();

  const later = await open(path);
  expect(later.health().fts.available).toBe(true);
  expect(later.health().notices).toEqual([expect.stringMatching(/words of the index .* rebuilt from the texts/u)]);
  expect(await later.listFiles()).toHaveLength(1);
  expect(await find(later, "word")).toEqual(["word pear"]);
  expect(await later.pendingVectors(spaceOf("m"), 5)).toEqual([]);
  await later.close();

  const without = await open(path, { disableFts: true });
  await without.replaceFiles([fileOf("a.md", ["word quill"])]);
  await without.close();
  const last = await open(path);
  expect(await last.listFiles()).toHaveLength(1);
  expect(await find(last, "word")).toEqual(["word quill"]);
  expect(await find(last, "pear")).toEqual([]);
  await last.close();
  expect((await open(path)).health().notices).toEqual([]);
});

test("a new file is for its owner alone, and so is a folder that is made for it", async (context) => {
  if (process.platform === "win32") return context.skip("permissions are of another kind there");
  const { path, store } = await openWith([fileOf("a.md", ["word"])]);
  const modes = ["", "-wal", "-shm"].map((suffix) => statSync(path + suffix).mode & 0o777);
  expect(modes).toEqual([0o600, 0o600, 0o600]);
  expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
  await store.close();
  expect(existsSync(`${path}-wal`)).toBe(false);
});

test("a vector of the wrong kind is refused with INVALID_ARGUMENT and harms nothing", async () => {
  const { store } = await openWith([fileOf("a.md", ["one"])]);
  const hash = fileOf("a.md", ["one"]).chunks[0]?.hash ?? "";
  const space = spaceOf("m");
  const wrong = [vectorOf("one", 7), new Float32Array(8), new Float32Array(8).fill(Number.NaN)];
  for (const vector of wrong) {
    await expect(store.putVectors(space, [{ hash, vector }])).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(store.searchVector({ space, vector, sources: ["memory"], limit: 1 })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  }
  expect(await store.spaces()).toEqual([]);
  await embedAll(store, space);
  expect(await near(store, space, "one")).toEqual(["one"]);
});

function cut(path: string, bytes: number): void {
  truncateSync(path, Math.floor(bytes));
}

async function deadProcess(): Promise<number> {
  const child = runChild(["open-and-print", await tempPath()]);
  await child.ended;
  return child.process.pid ?? -1;
}

function markDeadWriter(path: string, pid: number): void {
  edit(path, (db) => db.prepare("INSERT INTO meta VALUES ('writer:x', ?)").run(String(pid)));
}

test("processes that write at the same time wait for each other, from the making of the file on", async () => {
  const path = await tempPath();
  const children = ["p", "q", "r"].map((prefix) => runChild(["write-files", path, prefix, "12"]));
  for (const child of children) {
    expect(await child.ended, child.output()).toBe(0);
    expect(child.output()).toBe(`open ${path}\nwrote\ndone\n`);
  }
  const store = await open(path);
  expect(store.health().notices).toEqual([]);
  expect(await store.listFiles()).toHaveLength(60);
  expect((await store.stats()).chunks).toBe(600);
  for (const prefix of ["p", "q", "r"]) expect(await find(store, prefix)).toHaveLength(50);
  expect(await find(store, "batch3")).toEqual([]);
  await store.close();
  expectIntegrity(path);
});

test("two stores on one file in one process do not loosen each other's locks", async () => {
  const { path, store: first } = await openWith([fileOf("a.md", ["first"])]);
  const second = await open(path);
  await second.close();
  // A process that believes itself the last one would take the log along with it.
  const child = runChild(["open-and-print", path]);
  expect(await child.ended, child.output()).toBe(0);
  expect(existsSync(`${path}-wal`)).toBe(true);
  await first.replaceFiles([fileOf("b.md", ["second"])]);
  const after = runChild(["open-and-print", path]);
  expect(await after.ended, after.output()).toBe(0);
  expect(JSON.parse(after.output())).toMatchObject({ files: ["a.md", "b.md"], notices: [] });
});

test("the log does not stay large after a large write", async () => {
  const path = await tempPath();
  const store = await open(path);
  for (let round = 0; round < 6; round++) {
    await store.replaceFiles(
      Array.from({ length: 100 }, (_, index) => fileOf(`${round}-${index}.md`, ["x".repeat(60_000)])),
    );
  }
  await store.replaceFiles([fileOf("last.md", ["word"])]);
  expect(statSync(path).size).toBeGreaterThan(30_000_000);
  await store.close();
  expect(existsSync(`${path}-wal`)).toBe(false);
});
