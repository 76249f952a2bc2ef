import type Database from "better-sqlite3";
import { createVectorTables } from "./schema.ts";

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
