import { appendFileSync, readFileSync } from "node:fs";
import path from "node:path";
import { openMemory, parseConfig } from "@memslot/core";
import type { IndexedFile } from "@memslot/indexing";
import memoryCore from "@memslot/memory-core";
import { createWorkspace } from "@memslot/test-tools/files";
import { deterministicEmbeddings } from "@memslot/testkit";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import {
  edit,
  embedAll,
  fileOf,
  find,
  near,
  open,
  openWith,
  sha256,
  spaceOf,
  tempPath,
  openHere,
  vectorOf,
  words,
  valueIn,
  expectIntegrity,
} from "../test/stores.ts";

const space = spaceOf("m", 16);
/** The store on this thread, so that nothing happens between two calls. */
function manyFiles(prefix: string, count: number): IndexedFile[] {
  return Array.from({ length: count }, (_, index) =>
    fileOf(`${index}.md`, [`${prefix} ${index} one`, `${prefix} ${index} two`, `${prefix} ${index} three`]),
  );
}

function count(path: string, sql: string): number {
  return edit(path, (db) => db.prepare<[], number>(`SELECT count(*) FROM ${sql}`).pluck().get() ?? -1);
}

/** Generations, and tables of words and vectors, that are in the file. */
function leftIn(path: string): { generations: number; words: number; vectors: number; files: number; chunks: number } {
  const tables = (pattern: string): number =>
    count(path, `sqlite_schema WHERE type = 'table' AND name GLOB '${pattern}'`);
  return {
    generations: count(path, "generations"),
    words: tables("chunks_fts_[0-9]"),
    vectors: tables("chunks_codes_[0-9]"),
    files: count(path, "files"),
    chunks: count(path, "chunks"),
  };
}

test("a store that searches while another one puts a new build in place answers from one of the two, whole", async () => {
  const path = await tempPath();
  const [searching, building] = [await open(path), await open(path)];
  await building.replaceFiles(manyFiles("old", 40));
  await searching.useSpace(space);
  await embedAll(building, space);
  for (let round = 0; round < 2; round++) {
    const table = await building.startBuild(`round ${round}`);
    await table.replaceFiles(manyFiles(`new${round}`, 40));
    await embedAll(building, space);
    const seen = new Set<string>();
    const progress = { isDone: false };
    const flip = building.finishBuild().then(() => (progress.isDone = true));
    do {
      const texts = [await find(searching, "one"), await near(searching, space, "anything", 50)];
      for (const found of texts) {
        expect(found).toHaveLength(found === texts[0] ? 40 : 50);
        const names = new Set(found.map((text) => text.split(" ")[0]));
        expect(names.size, "of one build").toBe(1);
        seen.add([...names].join());
      }
    } while (!progress.isDone);
    await flip;
    expect((await find(searching, "one"))[0]).toMatch(`new${round}`);
    expect((await near(searching, space, "anything", 1))[0]).toMatch(`new${round}`);
    const last = round === 0 ? "old" : `new${round - 1}`;
    for (const name of seen) expect([last, `new${round}`]).toContain(name);
  }
});

test("a build that another process has ended is not written to, and does not take the place of the other's", async () => {
  const path = await tempPath();
  const [one, two] = [await open(path), await open(path)];
  await one.replaceFiles([fileOf("a.md", ["old"])]);
  const table = await one.startBuild("one");
  await (await two.startBuild("two")).replaceFiles([fileOf("a.md", ["new"])]);
  await expect(table.removeFiles([fileOf("a.md", [])])).rejects.toMatchObject({ code: "BUSY" });
  await expect(one.finishBuild()).rejects.toMatchObject({ code: "BUSY" });
  await two.finishBuild();
  await expect(table.touchFiles([fileOf("a.md", [])])).rejects.toMatchObject({ code: "BUSY" });
  expect(await find(one, "old", "new")).toEqual(["new"]);
});

test("changes go into the build that answers, whichever process has put it there", async () => {
  const path = await tempPath();
  const [one, two] = [await open(path), await open(path)];
  await one.replaceFiles([fileOf("a.md", ["old a"]), fileOf("b.md", ["old b"])]);
  await (await two.startBuild("two")).replaceFiles([fileOf("a.md", ["new a"]), fileOf("b.md", ["new b"])]);
  await one.replaceFiles([fileOf("a.md", ["old a, edited"])]);
  expect((await find(one, "a", "b", "edited")).toSorted()).toEqual(["old a, edited", "old b"]);
  await two.finishBuild();
  await one.removeFiles([{ path: "b.md", source: "memory" }]);
  await one.replaceFiles([fileOf("c.md", ["new c"])]);
  await one.touchFiles([{ ...fileOf("a.md", []), mtimeMs: 77 }]);
  expect((await find(two, "a", "b", "c", "new", "old")).toSorted()).toEqual(["new a", "new c"]);
  expect((await two.listFiles()).map(({ path: name, mtimeMs }) => [name, mtimeMs])).toEqual([
    ["a.md", 77],
    ["c.md", 1.5],
  ]);
});

test("the old build is deleted in small steps, which a process that was killed leaves to the next that writes", async () => {
  const path = await tempPath();
  const first = openHere(path);
  first.replaceFiles(manyFiles("old", 300));
  first.useSpace(space);
  const hashes = first.pendingVectors(space, 5000).map(({ hash }) => hash);
  first.putVectors(
    space,
    hashes.map((hash) => ({ hash, vector: vectorOf("x", 16) })),
  );
  const build = first.startBuild("two");
  first.replaceFiles(manyFiles("new", 10), build);
  first.finishBuild();
  const full = { generations: 2, words: 2, vectors: 2, files: 310, chunks: 930 };
  expect(leftIn(path)).toEqual(full);
  // The layout is examined first.
  for (let step = 0; step < 4; step++) expect(await first.tidy()).toBe(true);
  // As a killed process leaves it: its connection is never closed.
  const one = leftIn(path);
  expect(one).toMatchObject({ generations: 2, words: 1, vectors: 1 });
  expect([one.chunks, one.files < full.files]).toEqual([full.chunks - 200, true]);

  const reading = openHere(path);
  expect(reading.searchKeyword({ terms: words("one"), sources: ["memory"], limit: 99 }).rows).toHaveLength(10);
  expect(await reading.tidy()).toBe(false);
  expect(leftIn(path)).toEqual(one);
  reading.replaceFiles([fileOf("extra.md", ["extra"])]);
  const steps: number[] = [];
  for (let before = count(path, "chunks"); await reading.tidy();) {
    const left = count(path, "chunks");
    steps.push(before - left);
    before = left;
  }
  expect(Math.max(...steps)).toBe(200);
  const chunks = 10 * 3 + 1;
  expect(leftIn(path)).toEqual({ generations: 1, words: 1, vectors: 1, files: 11, chunks });
  expect(reading.stats()).toMatchObject({ files: 11, chunks, cachedVectors: 900, generation: { id: 2 } });
  reading.close();
  first.close();
  expectIntegrity(path);
});

test("deleting the old build does not wait for another process that writes, and goes on when it is done", async () => {
  const path = await tempPath();
  // Longer than a test may take.
  const store = openHere(path, { busyTimeoutMs: 90_000 });
  store.replaceFiles(manyFiles("old", 5));
  store.startBuild("two");
  store.finishBuild();
  const other = new Database(path);
  try {
    other.exec("BEGIN IMMEDIATE");
    expect(await store.tidy()).toBe(false);
    expect(store.searchKeyword({ terms: words("one"), sources: ["memory"], limit: 9 }).rows).toEqual([]);
  } finally {
    other.close();
  }
  while (await store.tidy());
  expect(leftIn(path)).toEqual({ generations: 1, words: 1, vectors: 0, files: 0, chunks: 0 });
});

test("any process drops codes with their build, with any vector engine", async () => {
  const path = await tempPath();
  const withCodes = openHere(path);
  withCodes.replaceFiles(manyFiles("old", 5));
  withCodes.useSpace(space);
  withCodes.close();
  const without = openHere(path, { enabled: false });
  const build = without.startBuild("two");
  without.replaceFiles([fileOf("a.md", ["new"])], build);
  without.finishBuild();
  expect(leftIn(path)).toMatchObject({ generations: 2, vectors: 1 });
  while (await without.tidy());
  expect(leftIn(path)).toEqual({ generations: 1, words: 1, vectors: 0, files: 1, chunks: 1 });
});

test("vectors of both builds are kept, those of the old one leave when it is gone", async () => {
  const path = await tempPath();
  const store = openHere(path, { enabled: false, cacheMaxEntries: 1 });
  const put = (...texts: string[]): void =>
    store.putVectors(
      space,
      texts.map((text) => ({ hash: sha256(text), vector: vectorOf(text, 16) })),
    );
  const known = (...texts: string[]): number => store.knownVectors(space, texts.map(sha256)).length;
  store.replaceFiles([fileOf("a.md", ["old 1", "old 2"])]);
  store.replaceFiles([fileOf("a.md", ["new 1", "new 2"])], store.startBuild("two"));
  store.useSpace(space);
  put("old 1", "old 2", "new 1", "new 2", "unused");
  expect([known("old 1", "old 2"), known("new 1", "new 2"), known("unused")]).toEqual([2, 2, 0]);
  store.finishBuild();
  while (await store.tidy());
  put("unused");
  expect([known("old 1", "old 2"), known("new 1", "new 2"), known("unused")]).toEqual([0, 2, 0]);
});

test("a search that fails leaves nothing behind that the next one stumbles over", async () => {
  const { store } = await openWith([fileOf("a.md", ["word"])]);
  // Breaks within the transaction in which the first search has made its own tables.
  const wrong = { terms: words("word"), sources: ["memory"], limit: {} as number };
  await expect(store.searchKeyword(wrong)).rejects.toThrow(/bind/u);
  expect(await find(store, "word")).toEqual(["word"]);
});

test.each([
  ["a note", ""],
  ["a note that was edited meanwhile", " again"],
])(
  "what older rules for secrets let through in %s leaves the file with its vector, and no other text is embedded again",
  async (_, edited) => {
    const secret = `glwt-${"a1B2c3D4e5".repeat(3)}`;
    const place = createWorkspace({
      "memory/a.md": "The okapi eats leaves.",
      "memory/b.md": `The zebra pays with ${secret} at noon.`,
    });
    const index = path.join(place.stateDir, "memory", "main.sqlite");
    async function synced(): Promise<string[]> {
      const sent: string[] = [];
      const provider = deterministicEmbeddings();
      const { workspaceDir: workspace, stateDir } = place;
      const memorySearch = { sync: { watch: false } };
      const memory = await openMemory({
        config: parseConfig({ agents: { defaults: { workspace, memorySearch } } }, { stateDir }),
        agentId: "main",
        plugins: [memoryCore],
        notify: () => {},
        embeddings: {
          ...provider,
          embedBatch: async (texts, options) => {
            sent.push(...texts);
            return await provider.embedBatch(texts, options);
          },
        },
      });
      await memory.sync();
      await memory.close();
      return sent;
    }
    expect(await synced()).toHaveLength(2);
    const stale = Buffer.alloc(32, 7);
    edit(index, (db) => {
      const { id, hash } = db.prepare("SELECT id, hash FROM chunks WHERE text LIKE '%zebra%'").get() as {
        id: number;
        hash: Buffer;
      };
      db.exec("UPDATE files SET recipe = replace(recipe, ' redaction4', ' redaction3')");
      db.prepare("UPDATE chunks SET text = ?, hash = ? WHERE id = ?").run(`The zebra pays with ${secret}`, stale, id);
      db.prepare("UPDATE embedding_cache SET hash = ? WHERE hash = ?").run(stale, hash);
      const [table] = db
        .prepare("SELECT name FROM sqlite_schema WHERE sql LIKE '%USING fts5(%'")
        .pluck()
        .all() as string[];
      db.prepare(`INSERT OR REPLACE INTO ${table} (rowid, terms) VALUES (?, ?)`).run(id, `zebra ${secret}`);
    });
    const holdsSecret = (): boolean =>
      readFileSync(index).toString("latin1").toLowerCase().includes(secret.toLowerCase());
    expect(holdsSecret()).toBe(true);
    if (edited !== "") appendFileSync(path.join(place.workspaceDir, "memory/b.md"), edited);
    expect(await synced()).toEqual([expect.stringContaining("[redacted: GitLab token]")]);
    expect(holdsSecret()).toBe(false);
    expect(valueIn(index, "SELECT group_concat(DISTINCT recipe LIKE '% redaction4%') FROM files")).toBe("1");
    expect(valueIn(index, "SELECT count(*) FROM vectors")).toBe(2);
    expect(edit(index, (db) => db.prepare("SELECT 1 FROM embedding_cache WHERE hash = ?").get(stale))).toBeUndefined();
  },
);

test("a build that a process without codes has made is laid out at the first search by meaning, which is right", async () => {
  const path = await tempPath();
  const searching = await open(path);
  await searching.replaceFiles([fileOf("a.md", ["one", "two"])]);
  await embedAll(searching, space, { use: true });
  const building = await open(path, { vector: { enabled: false } });
  await (await building.startBuild("two")).replaceFiles([fileOf("a.md", ["two", "three"])]);
  await embedAll(building, space);
  await building.finishBuild();
  expect(await near(searching, space, "three", 1)).toEqual(["three"]);
  expect((await near(searching, space, "one")).toSorted()).toEqual(["three", "two"]);
  expect(count(path, "chunks_codes_2_places")).toBe(2);
});
