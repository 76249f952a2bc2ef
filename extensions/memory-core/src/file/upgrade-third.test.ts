import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { applicationId, openDatabaseStore, schemaVersion } from "@memslot/indexing/ledger-tables";
import { expect, test } from "vitest";
import { createWordIndex } from "../words/word-tables.ts";
import { edit, fileOf, find, near, open, pendingTexts, sha256, spaceOf, tempPath, vectorOf } from "../test/stores.ts";

const space = spaceOf("m");

/** A file as the third schema had it: a build that answers, one that is being made, and one that was dropped. */
async function makeThird(path: string): Promise<void> {
  await mkdir(dirname(path));
  edit(path, (db) => {
    db.pragma("page_size = 32768");
    db.pragma("auto_vacuum = INCREMENTAL");
    db.pragma("journal_mode = WAL");
    db.exec(`
      CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
      CREATE TABLE generations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, state TEXT NOT NULL,
        started_at INTEGER NOT NULL, built_at INTEGER);
      CREATE TABLE files (id INTEGER PRIMARY KEY, generation INTEGER NOT NULL, path TEXT NOT NULL, source TEXT NOT NULL,
        hash TEXT NOT NULL, mtime REAL NOT NULL, size INTEGER NOT NULL, recipe TEXT NOT NULL, cursor TEXT,
        chunks INTEGER NOT NULL, chunk_bytes INTEGER NOT NULL, UNIQUE (generation, source, path));
      CREATE TABLE chunks (id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL, start_line INTEGER NOT NULL,
        end_line INTEGER NOT NULL, context TEXT NOT NULL, text TEXT NOT NULL, hash BLOB NOT NULL);
      CREATE INDEX chunks_by_file ON chunks (file_id, start_line);
      CREATE TABLE spaces (id INTEGER PRIMARY KEY, provider TEXT NOT NULL, model TEXT NOT NULL,
        provider_key TEXT NOT NULL, dims INTEGER NOT NULL, written_at INTEGER NOT NULL,
        UNIQUE (provider, model, provider_key, dims));
      CREATE TABLE embedding_cache (hash BLOB NOT NULL, space_id INTEGER NOT NULL, used_at INTEGER NOT NULL,
        vector_id INTEGER NOT NULL, PRIMARY KEY (hash, space_id)) WITHOUT ROWID;
      CREATE TABLE vectors (id INTEGER PRIMARY KEY, embedding BLOB NOT NULL);
      CREATE TABLE quarantine (hash BLOB NOT NULL, space_id INTEGER NOT NULL, reason TEXT NOT NULL,
        PRIMARY KEY (hash, space_id)) WITHOUT ROWID;
      INSERT INTO meta VALUES ('revision', '41'), ('most_chunks', '3');
      INSERT INTO generations VALUES (2, '', 'dropped', 1, 1), (3, 'v3', 'active', 2, 2), (4, 'v4', 'next', 3, NULL);
      INSERT INTO spaces VALUES (1, 'fake', 'm', '', 8, 5);
      ${[2, 3, 4].map(createWordIndex).join("")}
    `);
    const put = (generation: number, path: string, text: string): void => {
      const { source, hash, mtimeMs, size, recipe } = fileOf(path, [text]);
      const file = db
        .prepare("INSERT INTO files VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, NULL, 1, ?)")
        .run(generation, path, source, hash, mtimeMs, size, recipe, text.length);
      const chunk = db
        .prepare("INSERT INTO chunks VALUES (NULL, ?, 1, 1, '', ?, ?)")
        .run(file.lastInsertRowid, text, Buffer.from(sha256(text), "hex"));
      db.prepare(`INSERT INTO chunks_fts_${generation} (rowid, terms) VALUES (?, ?)`).run(chunk.lastInsertRowid, text);
    };
    put(2, "a.md", "dropped word");
    put(3, "a.md", "old word");
    put(3, "b.md", "refused word");
    put(4, "a.md", "new word");
    db.prepare("INSERT INTO vectors VALUES (1, ?)").run(Buffer.from(vectorOf("old word").buffer));
    db.prepare("INSERT INTO embedding_cache VALUES (?, 1, 1, 1)").run(Buffer.from(sha256("old word"), "hex"));
    db.prepare("INSERT INTO quarantine VALUES (?, 1, 'too odd')").run(Buffer.from(sha256("refused word"), "hex"));
    db.pragma(`application_id = ${applicationId}`);
    db.pragma("user_version = 3");
  });
}

const versionOf = (path: string): unknown => edit(path, (db) => db.pragma("user_version", { simple: true }));

test("an index of the third schema is brought up to this one with its builds, words and vectors", async () => {
  const path = await tempPath();
  await makeThird(path);
  const store = await open(path);
  expect(store.health()).toMatchObject({ location: path, notices: [] });
  expect(await find(store, "word")).toEqual(["old word", "refused word"]);
  expect(await store.revision?.()).toBe("1.41");
  expect(await pendingTexts(store, space)).toEqual(["new word"]);
  expect(await store.quarantined(space, 9)).toMatchObject([{ path: "b.md", reason: "too odd" }]);
  await store.useSpace(space);
  expect(await near(store, space, "old word")).toEqual(["old word"]);
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
  await makeThird(path);
  const other = openDatabaseStore({ path, store: "memory-other", cacheMaxEntries: 1000, busyTimeoutMs: 1000 });
  expect(other.listFiles()).toEqual([]);
  expect(other.stats().generation?.next).toBeUndefined();
  other.replaceFiles([fileOf("z.md", ["old word"])]);
  expect(other.pendingVectors(space, 9)).toEqual([]);
  while (await other.tidy());
  other.close();
  const store = await open(path);
  expect(store.health().notices).toEqual([]);
  expect(await find(store, "word")).toEqual(["old word", "refused word"]);
  expect(await pendingTexts(store, space)).toEqual(["new word"]);
});
