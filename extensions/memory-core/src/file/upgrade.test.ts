import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { VectorSpace } from "@memslot/indexing";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { applicationId, openDatabaseStore, upgradeFromSecond } from "@memslot/indexing/ledger-tables";
import { loadSqliteVec } from "../vectors/engines/sqlite-vec.ts";
import { edit, fileOf, find, near, open, pendingTexts, sha256, tempPath, vectorOf } from "../test/stores.ts";

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

/** A file as the second schema had it, with words, chunks, the vectors of one space, and a text that was refused. */
async function makeSecond(path: string): Promise<void> {
  await mkdir(dirname(path));
  edit(path, (db) => {
    db.pragma("page_size = 32768");
    db.pragma("journal_mode = WAL");
    expect(loadSqliteVec(db, undefined).ok).toBe(true);
    db.exec(`
      CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
      CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL, source TEXT NOT NULL, hash TEXT NOT NULL,
        mtime REAL NOT NULL, size INTEGER NOT NULL, recipe TEXT NOT NULL, UNIQUE (source, path));
      CREATE TABLE chunks (id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL, start_line INTEGER NOT NULL,
        end_line INTEGER NOT NULL, context TEXT NOT NULL, text TEXT NOT NULL, hash BLOB NOT NULL);
      CREATE INDEX chunks_by_file ON chunks (file_id);
      CREATE INDEX chunks_by_hash ON chunks (hash, file_id);
      CREATE TABLE spaces (id INTEGER PRIMARY KEY, provider TEXT NOT NULL, model TEXT NOT NULL,
        provider_key TEXT NOT NULL, dims INTEGER NOT NULL, written_at INTEGER NOT NULL,
        UNIQUE (provider, model, provider_key, dims));
      CREATE TABLE embedding_cache (hash BLOB NOT NULL, space_id INTEGER NOT NULL, used_at INTEGER NOT NULL,
        vector_id INTEGER NOT NULL, PRIMARY KEY (hash, space_id)) WITHOUT ROWID;
      CREATE TABLE vectors (id INTEGER PRIMARY KEY, embedding BLOB NOT NULL);
      CREATE TABLE quarantine (hash BLOB NOT NULL, space_id INTEGER NOT NULL, reason TEXT NOT NULL,
        PRIMARY KEY (hash, space_id)) WITHOUT ROWID;
      CREATE VIRTUAL TABLE chunks_fts USING fts5(terms, content='', contentless_delete=1, tokenize="ascii");
      CREATE VIRTUAL TABLE chunks_vec USING vec0(source TEXT PARTITION KEY, embedding INT8[8] distance_metric=cosine,
        chunk_size=128);
      INSERT INTO spaces VALUES (1, 'fake', 'older', '', 8, 1000);
      INSERT INTO meta VALUES ('vector_space', '1'), ('vector_angle', '0.1');
    `);
    const files = [
      { ...fileOf("a.md", texts), id: 1 },
      { ...fileOf("b.jsonl", ["word one", "gr\u00fc\u00dfe"], "sessions"), id: 7 },
      { ...fileOf("empty.md", []), id: 9 },
    ];
    const chunk = db.prepare("INSERT INTO chunks VALUES (?, ?, ?, ?, '', ?, ?)");
    const words = db.prepare("INSERT INTO chunks_fts (rowid, terms) VALUES (?, ?)");
    let id = 0;
    for (const { id: fileId, path: name, source, hash, mtimeMs, size, recipe, chunks } of files) {
      db.prepare("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?)").run(
        fileId,
        name,
        source,
        hash,
        mtimeMs,
        size,
        recipe,
      );
      for (const { startLine, endLine, text } of chunks) {
        chunk.run(++id, fileId, startLine, endLine, text, Buffer.from(sha256(text), "hex"));
        words.run(id, text);
      }
    }
    db.prepare("INSERT INTO quarantine VALUES (?, 1, 'no')").run(Buffer.from(sha256("word three"), "hex"));
    for (const [index, text] of ["word one", "word two", "gone"].entries()) {
      db.prepare("INSERT INTO vectors VALUES (?, ?)").run(index + 1, Buffer.from(vectorOf(text).buffer));
      const row = db.prepare("INSERT INTO embedding_cache VALUES (?, 1, ?, ?)");
      row.run(Buffer.from(sha256(text), "hex"), 1000 + index, index + 1);
    }
    const fast = db.prepare("INSERT INTO chunks_vec (rowid, source, embedding) VALUES (?, ?, vec_int8(?))");
    fast.run(1n, "memory", Buffer.alloc(8, 1));
    db.pragma(`application_id = ${applicationId}`);
    db.pragma("user_version = 2");
  });
}

test("an index of the second schema is brought up to this one with its files, words, vectors and refused texts", async () => {
  const path = await tempPath();
  await makeSecond(path);
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
  await makeSecond(path);
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
  expect(
    edit(path, (db) => db.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'chunks_fts'").pluck().get()),
  ).toBe(0);
});

test("an upgrade that is broken off leaves the index as it was", async () => {
  const path = await tempPath();
  await makeSecond(path);
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
  await makeFirst(path);
  const store = await open(path);
  expect(store.health()).toMatchObject({ location: path, notices: [] });
  const { chunks: _chunks, ...facts } = fileOf("a.md", texts);
  expect(await store.listFiles()).toEqual([facts]);
  expect(await find(store, "two")).toEqual(["word two"]);
  const laidOut = "SELECT count(*) FROM meta WHERE key GLOB 'vector_*'";
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

test.each([
  ["first", makeFirst, [2, 3]],
  ["second", makeSecond, [3]],
])("processes that meet a file of the %s schema bring it up once", async (_, make, vectors) => {
  const path = await tempPath();
  await make(path);
  const stores = await Promise.all([open(path), open(path), open(path)]);
  for (const store of stores) {
    expect(store.health()).toMatchObject({ location: path, notices: [] });
    expect((await store.spaces()).map((space) => space.vectors)).toEqual(vectors);
    expect(await find(store, "two")).toEqual(["word two"]);
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

test.each([
  ["first", makeFirst],
  ["second", makeSecond],
])("an index of the %s schema that another store has opened before has its words made anew", async (_name, make) => {
  const path = await tempPath();
  await make(path);
  const other = openDatabaseStore({ path, store: "memory-other", cacheMaxEntries: 1000, busyTimeoutMs: 1000 });
  expect(other.listFiles()).toEqual([]);
  other.close();
  const store = await open(path);
  expect(store.health().notices).toEqual([expect.stringMatching(/made anew from the texts/u)]);
  expect(await find(store, "two")).toEqual(["word two"]);
  expect((await store.listFiles()).map(({ path: name }) => name)).toContain("a.md");
});
