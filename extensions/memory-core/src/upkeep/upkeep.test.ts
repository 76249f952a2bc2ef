import { readFileSync } from "node:fs";
import type { IndexFinding } from "@memslot/core";
import { indexTerms, type IndexedFile } from "@memslot/indexing";
import { expect, test } from "vitest";
import {
  harm,
  spoilTable,
  embedAll,
  fileOf,
  find,
  near,
  open,
  openHere,
  spaceOf,
  tempPath,
  words,
  edit,
  bytesOf,
  faultsOf,
  fill,
  editedNotes,
  editedSpace,
  textOf,
  openWith,
  runChild,
} from "../test/stores.ts";
import type { SqliteIndex } from "../sqlite-store.ts";
import cases from "../../test/data/cases.json" with { type: "json" };

const space = spaceOf("m");
const names = ["database", "words", "files", "leftovers", "vector cache", "vectors", "space"];

/** As the tokenizer makes the words: they can be made again from the text. */
function noteOf(path: string, texts: readonly string[]): IndexedFile {
  const file = fileOf(path, texts);
  return {
    ...file,
    chunks: file.chunks.map((chunk) => ({ ...chunk, terms: indexTerms(`${chunk.text}\n${chunk.context}`) })),
  };
}

const notes = Array.from({ length: 40 }, (_, file) =>
  noteOf(`${file}.md`, [`apple number${file}`, `pear number${file}`, `plum number${file}`]),
);

async function filled(path: string): Promise<SqliteIndex> {
  const store = await open(path);
  await store.replaceFiles(notes);
  await embedAll(store, space, { use: true });
  return store;
}

function bad(findings: readonly IndexFinding[]): string[] {
  return findings.filter(({ ok }) => !ok).map(({ name, message }) => `${name}: ${message}`);
}

test("a sound index is found sound, with figures, and a check writes nothing", async () => {
  const path = await tempPath();
  await (await filled(path)).close();
  const before = readFileSync(path);
  const store = await open(path);
  const findings = await store.check();
  expect(findings.map(({ name }) => name)).toEqual(names);
  expect(bad(findings)).toEqual([]);
  const messages = Object.fromEntries(findings.map(({ name, message }) => [name, message]));
  expect(messages["words"]).toBe("terms of 120 chunks");
  expect(messages["files"]).toBe("120 chunks of 40 files");
  expect(messages["vectors"]).toMatch(/^120 vectors in \d+ blocks$/u);
  expect(messages["vector cache"]).toBe("120 vectors");
  await store.close();
  expect(readFileSync(path).equals(before)).toBe(true);
});

test.each(cases.damages as [string, string, string, string][])(
  "%s: it is found, and repaired without a provider",
  async (_, name, sql, pattern) => {
    const message = new RegExp(pattern, "u");
    const path = await tempPath();
    await (await filled(path)).close();
    harm(path, sql);
    const store = await open(path);
    const findings = await store.check();
    expect(bad(findings).join("\n")).toMatch(message);
    expect(findings.find((finding) => finding.name === name)?.ok).toBe(false);
    const repaired = await store.repair();
    expect(bad(repaired)).toEqual([]);
    expect(repaired.find((finding) => finding.name === name)?.fixed).toMatch(message);
    expect(bad(await store.check())).toEqual([]);
    expect((await store.repair()).filter(({ fixed }) => fixed !== undefined)).toEqual([]);
    await store.replaceFiles(notes.filter(({ path: file }) => file === "3.md"));
    expect(await find(store, "number7")).toHaveLength(3);
    expect(await find(store, "number39")).toHaveLength(3);
    await store.useSpace(space);
    expect(await store.pendingVectors(space, 10)).toHaveLength(/numbers|wrong/u.test(pattern) ? 1 : 0);
    expect(await near(store, space, "apple number3", 1)).toEqual(["apple number3"]);
  },
);

test.each([false, true])(
  "words that are repaired while they are being rebuilt are all there in the end (by another process: %s)",
  async (isByOther) => {
    const path = await tempPath();
    const here = openHere(path);
    here.replaceFiles(notes);
    harm(path, "DELETE FROM chunks_fts_1; INSERT INTO meta VALUES ('words_missing:1', '1')");
    await here.tidy(false);
    const other = openHere(path);
    const repair = (isByOther ? other : here).repair();
    for (let step = 0; step < 2; step++) await repair.next();
    while (await here.tidy(false));
    while ((await repair.next()).done !== true);
    const rows = (word: string) => here.searchKeyword({ terms: words(word), sources: ["memory"], limit: 9 }).rows;
    expect([rows("number0"), rows("number39")].map(({ length }) => length)).toEqual([3, 3]);
  },
);

test("a file that has lost chunks is forgotten, so that the next sync reads it again", async () => {
  const path = await tempPath();
  await (await filled(path)).close();
  harm(path, "DELETE FROM chunks WHERE text = 'pear number5'");
  const store = await open(path);
  const revision = await store.revision?.();
  expect(bad(await store.check()).join("\n")).toMatch(/files: 1 files have other chunks .* 5\.md \(2 chunks of 3\)/u);
  const repaired = await store.repair();
  expect(bad(repaired)).toEqual([]);
  expect(repaired.find(({ name }) => name === "files")?.fixed).toMatch(/1 files are forgotten/u);
  expect((await store.listFiles()).map((file) => file.path)).not.toContain("5.md");
  expect(await store.listFiles()).toHaveLength(39);
  expect(await store.revision?.()).not.toBe(revision);
  expect(await find(store, "number5")).toEqual([]);
  await store.replaceFiles(notes.slice(5, 6));
  expect(await find(store, "number5")).toHaveLength(3);
  expect(await store.pendingVectors(space, 10)).toEqual([]);
});

test("damaged pages are found; to repair them the file is set aside and rebuilt", async () => {
  const path = await tempPath();
  const store = await open(path);
  await store.replaceFiles(
    Array.from({ length: 100 }, (_, file) => noteOf(`${file}.md`, [`word ${"filler ".repeat(800)}`])),
  );
  await store.close();
  spoilTable(path, "chunks");
  const again = await open(path);
  expect(bad(await again.check()).join("\n")).toMatch(/^database: /u);
  expect(again.health().notices).toEqual([]);
  expect(bad(await again.repair())).toEqual([]);
  expect(again.health().notices).toEqual([expect.stringMatching(/was damaged/u)]);
  expect(await again.listFiles()).toEqual([]);
});

test("words that are missing, or spoilt beyond use, are rebuilt when the index is opened, and no file is forgotten", async () => {
  for (const sql of ["DROP TABLE chunks_fts_1", "INSERT OR REPLACE INTO meta VALUES ('words_stale', '1')"]) {
    const path = await tempPath();
    await (await filled(path)).close();
    harm(path, sql);
    const store = await open(path);
    expect(store.health().notices, sql).toEqual([
      expect.stringMatching(/words of the index .* no note is read again/u),
    ]);
    expect(await find(store, "number7"), sql).toHaveLength(3);
    expect(await store.listFiles()).toHaveLength(40);
    expect(bad(await store.check()), sql).toEqual([]);
    expect(await near(store, space, "apple number3", 1)).toEqual(["apple number3"]);
    await store.close();
    expect((await open(path)).health().notices).toEqual([]);
  }
});

test("words that turn out to be spoilt in the middle of a search are rebuilt, and the search answers", async () => {
  const path = await tempPath();
  await (await filled(path)).close();
  const store = await open(path);
  expect(await store.listFiles()).toHaveLength(40);
  harm(path, "UPDATE chunks_fts_1_data SET block = x'00' WHERE id > 10");
  expect(await find(store, "number7")).toHaveLength(3);
  expect(await store.listFiles()).toHaveLength(40);
  expect(store.health().notices).toHaveLength(1);
});

test("the making of words that was cut short goes on with the next opening", async () => {
  const path = await tempPath();
  await (await filled(path)).close();
  harm(path, "DELETE FROM chunks_fts_1 WHERE rowid > 50; INSERT INTO meta VALUES ('words_missing:1', '1')");
  const store = await open(path);
  expect(await find(store, "number39")).toHaveLength(3);
  expect(bad(await store.check())).toEqual([]);
});

test("a build that is being made is checked and repaired too", async () => {
  const path = await tempPath();
  const store = await filled(path);
  const build = await store.startBuild("v2");
  await build.replaceFiles(notes.slice(0, 10));
  await store.close();
  harm(path, "DELETE FROM chunks_fts_2 WHERE rowid IN (SELECT max(id) FROM chunks)");
  const again = await open(path);
  expect(bad(await again.check()).join("\n")).toMatch(/words: 1 of 30 chunks lack/u);
  expect(bad(await again.repair())).toEqual([]);
  const more = await again.startBuild("v2");
  await more?.replaceFiles(notes.slice(10));
  await again.finishBuild();
  expect(await find(again, "number9")).toHaveLength(3);
  expect(bad(await again.check())).toEqual([]);
});

test("the bytes of the tables, theirs together, are those of the file without what is free", async () => {
  const path = await tempPath();
  const store = await filled(path);
  await store.compact();
  const tables = await store.tables();
  const sizes = tables.map(({ bytes }) => bytes);
  expect(sizes).toEqual(sizes.toSorted((one, other) => other - one));
  expect(tables.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["chunks", "chunks_fts_1", "chunks_codes_1", "files", "vectors"]),
  );
  expect(tables.filter(({ name }) => /_(?:data|docsize|rowids|idx)$|^chunks_by|^sqlite_autoindex/u.test(name))).toEqual(
    [],
  );
  const sum = sizes.reduce((total, bytes) => total + bytes, 0);
  const { databaseBytes } = await store.stats();
  expect(sum).toBeLessThanOrEqual(databaseBytes);
  // One page in some hundred maps the others.
  expect(sum).toBeGreaterThan(databaseBytes - 3 * 32_768);
});

const large = Array.from({ length: 400 }, (_, index) =>
  fileOf(`${index}.md`, [`word${index} ${"filler ".repeat(3000)}`]),
);

test("the vectors of notes that are gone for a while are kept, however long they are gone", async () => {
  const path = await tempPath();
  const store = await open(path);
  await fill(store);
  for (let round = 0; round < 5; round++) {
    await store.removeFiles(editedNotes);
    // Each call is followed by what can wait.
    for (let call = 0; call < 5; call++) await store.stats();
    await store.compact();
    await store.replaceFiles(editedNotes);
    expect(await store.pendingVectors(editedSpace, 1000)).toEqual([]);
  }
});

test("of the vectors of old texts those go that were used longest ago, and none of a text that is there", async () => {
  const store = await open(await tempPath());
  await fill(store);
  const versions = Array.from({ length: 80 }, (_, version) =>
    fileOf(
      "note0.md",
      [0, 1, 2, 3, 4, 5, 6, 7].map((part) => textOf(`e${part}`, version)),
    ),
  );
  for (const version of versions) {
    await store.replaceFiles([version]);
    await embedAll(store, editedSpace);
  }
  const chunks = (await store.stats()).chunks;
  await expect.poll(async () => (await store.stats()).cachedVectors, { timeout: 60_000 }).toBeLessThan(2.5 * chunks);
  expect(await store.pendingVectors(editedSpace, 1000)).toEqual([]);
  await store.replaceFiles(versions.slice(78, 79));
  expect(await store.pendingVectors(editedSpace, 1000)).toEqual([]);
  await store.replaceFiles(versions.slice(0, 1));
  expect(await store.pendingVectors(editedSpace, 1000)).toHaveLength(8);
});

test("what deleted notes have left is given back piece by piece, without being asked for", async () => {
  const { path, store } = await openWith(large);
  const full = bytesOf(path);
  expect(full).toBeGreaterThan(6_000_000);
  await store.removeFiles(large.slice(10));
  // Each call is followed by a piece of it.
  await expect.poll(async () => (await store.stats()).reusableBytes, { timeout: 60_000 }).toBeLessThan(1_100_000);
  await store.close();
  expect(bytesOf(path)).toBeLessThan(full / 3);
  expect(await find(await open(path), "word3")).toHaveLength(1);
});

test("compacting gives back all that is free, and the index answers as before", async () => {
  const path = await tempPath();
  const store = await open(path);
  await fill(store);
  await store.replaceFiles(large.slice(0, 40));
  await store.removeFiles(large.slice(0, 40));
  const report = await store.compact();
  const stats = await store.stats();
  expect(stats.reusableBytes).toBe(0);
  expect(stats.walBytes).toBe(0);
  expect(report?.afterBytes).toBe(stats.databaseBytes);
  expect(report?.beforeBytes).toBeGreaterThan(stats.databaseBytes);
  expect(await find(store, "note7p3key0")).toHaveLength(1);
  expect(await near(store, editedSpace, textOf("note9p2"), 1)).toEqual([textOf("note9p2")]);
  expect(await faultsOf(store)).toEqual([]);
  expect(await store.compact()).toEqual({ beforeBytes: stats.databaseBytes, afterBytes: stats.databaseBytes });
});

test("little that is free is kept for what is written next", async () => {
  const store = await open(await tempPath());
  await store.replaceFiles(large);
  await store.removeFiles(large.slice(0, 60));
  const free = (await store.stats()).reusableBytes;
  for (let round = 0; round < 20; round++) await store.stats();
  expect((await store.stats()).reusableBytes).toBe(free);
  expect(free).toBeGreaterThan(500_000);
});

test("other processes write while one compacts, and nothing is lost", async () => {
  const path = await tempPath();
  const store = await open(path);
  await fill(store);
  const child = runChild(["write-files", path, "p", "12"]);
  await child.line("wrote");
  do await store.compact();
  while (child.process.exitCode === null && child.process.signalCode === null);
  expect(await child.ended, child.output()).toBe(0);
  expect(await find(store, "batch11")).toHaveLength(50);
  expect(await faultsOf(store)).toEqual([]);
});

test("bytes of vectors and of pages that hold nothing are counted", async () => {
  const path = await tempPath();
  const store = await open(path);
  const texts = Array.from({ length: 300 }, (_, index) => `word ${index} ${"x".repeat(1000)}`);
  await store.replaceFiles([fileOf("a.md", texts)]);
  for (const dimensions of [8, 5]) await embedAll(store, spaceOf("m", dimensions));
  expect(await store.stats()).toMatchObject({ cachedVectors: 600, cachedVectorBytes: 300 * (8 + 5) * 4 });
  const before = (await store.stats()).reusableBytes;
  await store.removeFiles([{ path: "a.md", source: "memory" }]);
  expect((await store.stats()).reusableBytes - before).toBeGreaterThan(250_000);
  expect(edit(path, (db) => db.pragma("auto_vacuum", { simple: true }))).toBe(2);
});

test("an index in memory can be checked and compacted too", async () => {
  const store = await open(await tempPath(), { mayCreate: false });
  await fill(store);
  await store.removeFiles(editedNotes.slice(6));
  const report = await store.compact();
  expect(report?.afterBytes).toBeLessThan(report?.beforeBytes ?? 0);
  expect(await faultsOf(store)).toEqual([]);
});
