import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { VectorSpace } from "@memslot/indexing";
import { expect, test } from "vitest";
import { loadSqliteVec } from "../src/sqlite-vec.ts";
import { applicationId } from "../src/schema.ts";
import { edit } from "./support/damage.ts";
import { fileOf, find, near, open, pendingTexts, sha256, tempPath, vectorOf } from "./support/stores.ts";

const older: VectorSpace = { provider: "fake", model: "older", providerKey: "", dimensions: 8 };
const newer: VectorSpace = { provider: "fake", model: "newer", providerKey: "query", dimensions: 5 };
const texts = ["word one", "word two", "word three"];

/** A file as the first schema had it, with words, chunks and the vectors of two spaces. */
async function makeFirst(path: string): Promise<void> {
  await mkdir(dirname(path));
  edit(path, (db) => {
    db.pragma("page_size = 16384");
    db.pragma("journal_mode = WAL");
    expect(loadSqliteVec(db, undefined).ok).toBe(true);
    db.exec(`
      CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
      CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL, source TEXT NOT NULL, hash TEXT NOT NULL,
        mtime REAL NOT NULL, size INTEGER NOT NULL, recipe TEXT NOT NULL, UNIQUE (source, path));
      CREATE TABLE chunks (id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL, start_line INTEGER NOT NULL,
        end_line INTEGER NOT NULL, context TEXT NOT NULL, text TEXT NOT NULL, hash TEXT NOT NULL);
      CREATE INDEX chunks_by_file ON chunks (file_id);
      CREATE TABLE embedding_cache (provider TEXT NOT NULL, model TEXT NOT NULL, provider_key TEXT NOT NULL,
        dims INTEGER NOT NULL, hash TEXT NOT NULL, embedding BLOB NOT NULL, updated_at INTEGER NOT NULL,
        PRIMARY KEY (provider, model, provider_key, dims, hash));
      CREATE VIRTUAL TABLE chunks_fts USING fts5(terms, content='', contentless_delete=1);
      CREATE INDEX chunks_by_hash ON chunks (hash, file_id);
      CREATE VIRTUAL TABLE chunks_vec USING vec0(source TEXT PARTITION KEY, embedding FLOAT[8] distance_metric=cosine);
      INSERT INTO meta VALUES ('vector_space', '["fake","older","",8]');
    `);
    const { path: name, source, hash, mtimeMs, size, recipe } = fileOf("a.md", texts);
    db.prepare("INSERT INTO files VALUES (1, ?, ?, ?, ?, ?, ?)").run(name, source, hash, mtimeMs, size, recipe);
    const chunk = db.prepare("INSERT INTO chunks VALUES (?, 1, ?, ?, '', ?, ?)");
    const words = db.prepare("INSERT INTO chunks_fts (rowid, terms) VALUES (?, ?)");
    const fast = db.prepare("INSERT INTO chunks_vec (rowid, source, embedding) VALUES (?, 'memory', ?)");
    const cache = db.prepare("INSERT INTO embedding_cache VALUES (?, ?, ?, ?, ?, ?, ?)");
    const put = (space: VectorSpace, text: string, at: number): void => {
      const vector = Buffer.from(vectorOf(text, space.dimensions).buffer);
      cache.run(space.provider, space.model, space.providerKey, space.dimensions, sha256(text), vector, at);
    };
    for (const [index, text] of texts.entries()) {
      chunk.run(index + 1, index + 1, index + 1, text, index === 2 ? "a hash of another kind" : sha256(text));
      words.run(index + 1, text);
      fast.run(BigInt(index + 1), Buffer.from(vectorOf(text).buffer));
      put(older, text, 1000 + index);
    }
    put(newer, "word two", 500);
    put(newer, "gone", 3000);
    db.pragma(`application_id = ${applicationId}`);
    db.pragma("user_version = 1");
  });
}

test("an index of the first schema is brought up to this one with its files, words and vectors", async () => {
  const path = await tempPath();
  await makeFirst(path);
  const store = await open(path);
  expect(store.health()).toMatchObject({ location: path, notices: [] });
  const { chunks: _chunks, ...facts } = fileOf("a.md", texts);
  expect(await store.listFiles()).toEqual([facts]);
  expect(await find(store, "two")).toEqual(["word two"]);
  const laidOut = "SELECT count(*) FROM meta WHERE key = 'vector_space'";
  expect(edit(path, (db) => db.prepare(laidOut).pluck().get())).toBe(0);
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
  await makeFirst(path);
  const store = await open(path, { cacheMaxEntries: 4 });
  await store.putVectors(newer, [{ hash: sha256("word one"), vector: vectorOf("word one", 5) }]);
  // Two were too many, and in a space that is not in use those of chunks that are there count like any other.
  expect(await store.spaces()).toEqual([
    { space: newer, vectors: 3 },
    { space: older, vectors: 1 },
  ]);
  expect(await store.knownVectors(older, texts.map(sha256))).toEqual([sha256("word three")]);
});

test("two processes that meet a file of the first schema bring it up once", async () => {
  const path = await tempPath();
  await makeFirst(path);
  const stores = await Promise.all([open(path), open(path), open(path)]);
  for (const store of stores) {
    expect(store.health()).toMatchObject({ location: path, notices: [] });
    expect((await store.spaces()).map(({ vectors }) => vectors)).toEqual([2, 3]);
  }
});

test("a file that says it is of the first schema and is not is set aside and made anew", async () => {
  const path = await tempPath();
  await makeFirst(path);
  edit(path, (db) => db.exec("ALTER TABLE embedding_cache DROP COLUMN embedding"));
  const store = await open(path);
  expect(store.health().location).toBe(path);
  expect(store.health().notices).toEqual([expect.stringMatching(/damaged.*made anew/u)]);
  expect(await store.listFiles()).toEqual([]);
});
