import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { VectorSpace } from "@memslot/indexing";
import { openDatabaseStore, schemaVersion, upgradeFromSecond } from "@memslot/indexing/ledger-tables";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import {
  edit,
  fileOf,
  find,
  near,
  open,
  pendingTexts,
  sha256,
  spaceOf,
  tempPath,
  vectorOf,
  valueIn,
} from "../test/stores.ts";
import { loadSqliteVec } from "../vectors/engines/sqlite-vec.ts";

const older: VectorSpace = { provider: "fake", model: "older", providerKey: "", dimensions: 8 };
const newer: VectorSpace = { provider: "fake", model: "newer", providerKey: "query", dimensions: 5 };
const ours = spaceOf("m");
const texts = ["word one", "word two", "word three"];

/**
 * Writes a file as an earlier release has left it. The first schema: vectors of two spaces. The second: a text that was
 * refused. The third: a build that answers, one that is being made, and one that was dropped.
 */
async function makeOld(schema: string, path: string): Promise<void> {
  await mkdir(dirname(path));
  edit(path, (db) => {
    expect(loadSqliteVec(db, undefined).ok).toBe(true);
    db.exec(readFileSync(new URL(`../test/${schema}-schema.sql`, import.meta.url), "utf8"));
  });
}

test("an index of the second schema is brought up to this one with its files, words, vectors and refused texts", async () => {
  const path = await tempPath();
  await makeOld("second", path);
  const store = await open(path);
  expect(store.health()).toMatchObject({ location: path, notices: [] });
  const records = [
    fileOf("a.md", texts),
    fileOf("b.jsonl", ["word one", "gr\u00fc\u00dfe"], "sessions"),
    fileOf("empty.md", []),
  ];
  expect((await store.listFiles()).toSorted((left, right) => left.path.localeCompare(right.path))).toEqual(
    records.map(({ chunks: _chunks, ...record }) => record),
  );
  expect(await store.stats()).toMatchObject({
    sources: [
      { source: "memory", files: 2, chunks: 3, bytes: 20, chunkBytes: texts.join("").length },
      { source: "sessions", files: 1, chunks: 2, bytes: 10, chunkBytes: "word one".length + 7 },
    ],
    cachedVectors: 3,
    generation: { id: 1 },
  });
  expect((await store.stats()).generation?.builtAt).toBeUndefined();
  expect(await find(store, "one", "two")).toHaveLength(3);
  expect((await store.quarantined(older, 9)).map(({ reason, startLine }) => [reason, startLine])).toEqual([["no", 3]]);
  expect(await pendingTexts(store, older)).toEqual(["gr\u00fc\u00dfe"]);
  expect(edit(path, (db) => db.prepare("SELECT key FROM meta WHERE key GLOB 'vector_*'").all())).toEqual([]);
  await store.useSpace(older);
  expect(await near(store, older, "word two", 1)).toEqual(["word two"]);
  expect(await near(store, older, "word one")).toHaveLength(3);

  await store.replaceFiles([{ ...fileOf("a.md", ["gone"]), fromLine: 2 }, fileOf("c.md", ["word four"])]);
  expect((await find(store, "word", "gone")).toSorted()).toEqual(["gone", "word four", "word one", "word one"]);
  const table = await store.builds?.start("next");
  await table?.replaceFiles([fileOf("a.md", ["word five"])]);
  await store.builds?.finish();
  expect(await find(store, "word")).toEqual(["word five"]);
  await store.close();
  edit(path, (db) => {
    const tables = db.prepare(
      "SELECT name FROM sqlite_schema WHERE name GLOB 'chunks_fts*' OR name GLOB 'chunks_vec*'",
    );
    const first = tables
      .pluck()
      .all()
      .filter((name) => !/^chunks_(?:fts|vec)_2(?:_|$)/u.test(String(name)));
    expect(first, "nothing is left of the tables under their old names, nor of the first build").toEqual([]);
    expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
  });
});

test("brought up where there is no FTS5, an index has its words again where there is", async () => {
  const path = await tempPath();
  await makeOld("second", path);
  const without = await open(path, { disableFts: true });
  expect(without.health()).toMatchObject({ location: path, notices: [] });
  expect(await without.listFiles()).toHaveLength(3);
  await without.useSpace(older);
  expect(await near(without, older, "word two", 1)).toEqual(["word two"]);
  await without.close();
  const store = await open(path);
  expect(store.health()).toMatchObject({
    location: path,
    notices: [expect.stringMatching(/made anew from the texts/u)],
  });
  expect(await find(store, "two")).toEqual(["word two"]);
  expect(valueIn(path, "SELECT count(*) FROM sqlite_schema WHERE name = 'chunks_fts'")).toBe(0);
});

test("an upgrade that is broken off leaves the index as it was", async () => {
  const path = await tempPath();
  await makeOld("second", path);
  const db = new Database(path);
  try {
    db.exec("BEGIN IMMEDIATE");
    upgradeFromSecond(db);
    // As when the process is killed there.
    db.exec("ROLLBACK");
    expect(db.pragma("user_version", { simple: true })).toBe(2);
  } finally {
    db.close();
  }
  const store = await open(path);
  expect(store.health()).toMatchObject({ location: path, notices: [] });
  expect(await find(store, "two")).toEqual(["word two"]);
});

test("an index of the first schema is brought up to this one with its files, words and vectors", async () => {
  const path = await tempPath();
  await makeOld("first", path);
  const store = await open(path);
  expect(store.health()).toMatchObject({ location: path, notices: [] });
  const { chunks: _chunks, ...facts } = fileOf("a.md", texts);
  expect(await store.listFiles()).toEqual([facts]);
  expect(await find(store, "two")).toEqual(["word two"]);
  const laidOut = "SELECT count(*) FROM meta WHERE key GLOB 'vector_*'";
  expect(valueIn(path, laidOut)).toBe(0);
  expect(await store.spaces()).toEqual([
    { space: newer, vectors: 2 },
    { space: older, vectors: 3 },
  ]);
  expect(await pendingTexts(store, older)).toEqual(["word three"]);
  expect((await store.pendingVectors(older, 5))[0]?.hash).toBe("a hash of another kind");
  for (const space of [older, newer]) {
    await store.useSpace(space);
    expect(await near(store, space, "word two", 1)).toEqual(["word two"]);
  }
  await store.replaceFiles([fileOf("a.md", texts), fileOf("b.md", ["gone"])]);
  expect(await pendingTexts(store, older)).toEqual(["gone"]);
  expect(await near(store, newer, "gone", 1)).toEqual(["gone"]);
  await store.close();
  const again = await open(path);
  expect(again.health().notices).toEqual([]);
  expect(await again.listFiles()).toHaveLength(2);
  await again.close();
  edit(path, (db) => {
    const hashes = "SELECT hash FROM chunks UNION SELECT hash FROM embedding_cache";
    const kinds = db.prepare(`SELECT DISTINCT typeof(hash) || length(hash) FROM (${hashes})`).pluck().all();
    expect(kinds).toEqual(["blob32"]);
    expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
  });
});

test("vectors keep the order in which they were used, so that the oldest still leaves first", async () => {
  const path = await tempPath();
  await makeOld("first", path);
  const store = await open(path, { cacheMaxEntries: 4 });
  await store.putVectors(newer, [{ hash: sha256("word one"), vector: vectorOf("word one", 5) }]);
  // Two were too many, and in a space that is not in use those of chunks that are there count like any other.
  expect(await store.spaces()).toEqual([
    { space: newer, vectors: 3 },
    { space: older, vectors: 1 },
  ]);
  expect(await store.knownVectors(older, texts.map(sha256))).toEqual([sha256("word three")]);
});

test.each([
  ["first", [2, 3]],
  ["second", [3]],
] as const)("processes that meet a file of the %s schema bring it up once", async (schema, vectors) => {
  const path = await tempPath();
  await makeOld(schema, path);
  const stores = await Promise.all([open(path), open(path), open(path)]);
  for (const store of stores) {
    expect(store.health()).toMatchObject({ location: path, notices: [] });
    expect((await store.spaces()).map((space) => space.vectors)).toEqual(vectors);
    expect(await find(store, "two")).toEqual(["word two"]);
  }
});

test("a file that says it is of the first schema and is not is set aside and made anew", async () => {
  const path = await tempPath();
  await makeOld("first", path);
  edit(path, (db) => db.exec("ALTER TABLE embedding_cache DROP COLUMN embedding"));
  const store = await open(path);
  expect(store.health().location).toBe(path);
  expect(store.health().notices).toEqual([expect.stringMatching(/damaged.*made anew/u)]);
  expect(await store.listFiles()).toEqual([]);
});

test.each(["first", "second"])(
  "an index of the %s schema that another store has opened before has its words made anew",
  async (schema) => {
    const path = await tempPath();
    await makeOld(schema, path);
    const other = openDatabaseStore({ path, store: "memory-other", cacheMaxEntries: 1000, busyTimeoutMs: 1000 });
    expect(other.listFiles()).toEqual([]);
    other.close();
    const store = await open(path);
    expect(store.health().notices).toEqual([expect.stringMatching(/made anew from the texts/u)]);
    expect(await find(store, "two")).toEqual(["word two"]);
    expect((await store.listFiles()).map(({ path: name }) => name)).toContain("a.md");
  },
);

const versionOf = (path: string): unknown => edit(path, (db) => db.pragma("user_version", { simple: true }));

test("an index of the third schema is brought up to this one with its builds, words and vectors", async () => {
  const path = await tempPath();
  await makeOld("third", path);
  const store = await open(path);
  expect(store.health()).toMatchObject({ location: path, notices: [] });
  expect(await find(store, "word")).toEqual(["old word", "refused word"]);
  expect(await store.revision?.()).toBe("1.41");
  expect(await pendingTexts(store, ours)).toEqual(["new word"]);
  expect(await store.quarantined(ours, 9)).toMatchObject([{ path: "b.md", reason: "too odd" }]);
  await store.useSpace(ours);
  expect(await near(store, ours, "old word")).toEqual(["old word"]);
  const build = await store.builds?.start("v4");
  expect(await build?.listFiles()).toHaveLength(1);
  await store.builds?.finish();
  expect(await find(store, "word")).toEqual(["new word"]);
  await store.touchFiles([fileOf("a.md", ["new word"])]);
  expect((await store.upkeep?.check())?.filter(({ ok }) => !ok)).toEqual([]);
  await store.close();
  expect(versionOf(path)).toBe(schemaVersion);
});

test("another store may be the first to open it: all of it is still there, and none of it is seen", async () => {
  const path = await tempPath();
  await makeOld("third", path);
  const other = openDatabaseStore({ path, store: "memory-other", cacheMaxEntries: 1000, busyTimeoutMs: 1000 });
  expect(other.listFiles()).toEqual([]);
  expect(other.stats().generation?.next).toBeUndefined();
  other.replaceFiles([fileOf("z.md", ["old word"])]);
  expect(other.pendingVectors(ours, 9)).toEqual([]);
  while (await other.tidy());
  other.close();
  const store = await open(path);
  expect(store.health().notices).toEqual([]);
  expect(await find(store, "word")).toEqual(["old word", "refused word"]);
  expect(await pendingTexts(store, ours)).toEqual(["new word"]);
});
