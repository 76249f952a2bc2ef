import type Database from "better-sqlite3";
import {
  createFileIndex,
  createFileTable,
  createGenerationTable,
  createStoreVectorTables,
  createVectorTables,
} from "./schema.ts";

/** The only store that there was before files belonged to one. */
const firstStore = "memory-core";

/** A hash of the first schema, in hexadecimal, as it is stored since. */
const key = "CASE WHEN length(hash) = 64 AND hash NOT GLOB '*[^0-9a-f]*' THEN unhex(hash) ELSE hash END";

/**
 * Brings the tables of schema 1 to those of schema 2, with all that is in them: the notes need not be read again and no
 * vector be made again. The caller has begun the transaction. `chunks_vec` stays until the next rebuild takes its place,
 * as only sqlite-vec can drop it, and is not relied on until then.
 */
export function upgradeFromFirst(db: Database.Database): void {
  db.exec(`
    DROP INDEX IF EXISTS chunks_by_hash;
    UPDATE chunks SET hash = ${key};
    ALTER TABLE embedding_cache RENAME TO first_cache;
    ${createVectorTables}
    INSERT INTO spaces (provider, model, provider_key, dims, written_at)
      SELECT provider, model, provider_key, dims, max(updated_at) FROM first_cache GROUP BY provider, model, provider_key, dims;
    INSERT INTO vectors (id, embedding) SELECT rowid, embedding FROM first_cache;
    INSERT INTO embedding_cache (hash, space_id, used_at, vector_id)
      SELECT ${key}, spaces.id, updated_at, first_cache.rowid
      FROM first_cache JOIN spaces USING (provider, model, provider_key, dims);
    DROP TABLE first_cache;
    DELETE FROM meta WHERE key = 'vector_space';
  `);
}

/**
 * Brings the tables of schema 2 to those of schema 3: what is there is the first generation. Gives its
 * number. `chunks_vec` stays as above. The caller has begun the transaction.
 */
export function upgradeFromSecond(db: Database.Database): number {
  const first = 1;
  db.exec(`
    ${createGenerationTable}
    INSERT INTO generations (id, store, name, state, started_at) VALUES (${first}, '${firstStore}', '', 'active', ${Date.now()});
    ALTER TABLE files RENAME TO second_files;
    ${createFileTable}
    INSERT INTO files (id, generation, path, source, hash, mtime, size, recipe, chunks, chunk_bytes)
      SELECT f.id, ${first}, path, source, hash, mtime, size, recipe, coalesce(c.chunks, 0), coalesce(c.bytes, 0)
      FROM second_files f
      LEFT JOIN (SELECT file_id, count(*) AS chunks, sum(octet_length(text)) AS bytes FROM chunks GROUP BY file_id) c
        ON c.file_id = f.id;
    DROP TABLE second_files;
    DROP INDEX chunks_by_file;
    ${createFileIndex}
    DELETE FROM meta WHERE key IN ('vector_space', 'vector_angle');
  `);
  return first;
}

/** Brings the tables of schema 3, and those that the steps before have made, to those of schema 4: files belong to a store. */
export function upgradeFromThird(db: Database.Database): void {
  const columns = db.prepare<[], string>("SELECT name FROM pragma_table_info('generations')").pluck().all();
  if (!columns.includes("store"))
    db.exec(`ALTER TABLE generations ADD COLUMN store TEXT NOT NULL DEFAULT '${firstStore}'`);
  db.exec(`${createStoreVectorTables} UPDATE meta SET key = 'revision:${firstStore}' WHERE key = 'revision'`);
}
