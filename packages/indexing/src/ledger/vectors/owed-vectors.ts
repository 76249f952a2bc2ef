import type Database from "better-sqlite3";
import { type Meta, metaKeys } from "../file/meta.ts";
import type { HashKey } from "../cache/hash-key.ts";

export interface OwedRow {
  hash: HashKey;
  /** Null where the vector, or the last chunk of the store with this text, is gone. */
  embedding: Buffer | null;
}

/** Vectors whose numbers are in the cache and that the store has not got yet. Called inside transactions. */
export interface OwedVectors {
  /** The spaces whose vectors the store is to have. */
  noted(): number[];
  /** Owes the vectors of all chunks that are there, once, and notes that those that come are owed, too. */
  note(spaceId: number): void;
  /** Owes what a chunk that was written has in the spaces that are noted. */
  added(hash: HashKey): void;
  owe(spaceId: number, hash: HashKey): void;
  /** Some of one space, that which was written to last first; undefined where nothing is owed. */
  next(limit: number): { spaceId: number; rows: OwedRow[] } | undefined;
  paid(spaceId: number, hashes: readonly HashKey[]): void;
}

export function openOwedVectors(db: Database.Database, meta: Meta, store: string): OwedVectors {
  const prefix = `${metaKeys.owes}${store}:`;
  const oweAll = db.prepare<[{ store: string; spaceId: number }]>(`
    INSERT OR IGNORE INTO owed_vectors (store, space_id, hash)
    SELECT DISTINCT :store, :spaceId, c.hash FROM chunks c
    CROSS JOIN embedding_cache e ON e.hash = c.hash AND e.space_id = :spaceId
    WHERE c.file_id IN (
      SELECT f.id FROM files f JOIN generations g ON g.id = f.generation WHERE g.store = :store AND g.state <> 'dropped')
  `);
  const oweNoted = db.prepare<[{ store: string; hash: HashKey; prefix: string }]>(`
    INSERT OR IGNORE INTO owed_vectors (store, space_id, hash)
    SELECT :store, e.space_id, e.hash FROM embedding_cache e
    WHERE e.hash = :hash AND EXISTS (SELECT 1 FROM meta WHERE key = :prefix || e.space_id)
  `);
  const owe = db.prepare<[string, number, HashKey]>(
    "INSERT OR IGNORE INTO owed_vectors (store, space_id, hash) VALUES (?, ?, ?)",
  );
  const pay = db.prepare<[string, number, HashKey]>(
    "DELETE FROM owed_vectors WHERE store = ? AND space_id = ? AND hash = ?",
  );
  const space = db
    .prepare<[string], number>(
      `SELECT s.id FROM spaces s WHERE EXISTS (SELECT 1 FROM owed_vectors o WHERE o.store = ? AND o.space_id = s.id)
       ORDER BY s.written_at DESC, s.id DESC LIMIT 1`,
    )
    .pluck();
  const some = db.prepare<[{ store: string; spaceId: number; limit: number }], OwedRow>(`
    SELECT o.hash, CASE WHEN EXISTS (
      SELECT 1 FROM chunks c JOIN files f ON f.id = c.file_id JOIN generations g ON g.id = f.generation
      WHERE c.hash = o.hash AND g.store = :store AND g.state <> 'dropped') THEN v.embedding END AS embedding
    FROM owed_vectors o LEFT JOIN embedding_cache e ON e.hash = o.hash AND e.space_id = o.space_id
    LEFT JOIN vectors v ON v.id = e.vector_id WHERE o.store = :store AND o.space_id = :spaceId LIMIT :limit
  `);
  return {
    noted: () => meta.startingWith(prefix).map(({ key }) => Number(key.slice(prefix.length))),
    note(spaceId) {
      if (meta.get(prefix + spaceId) !== undefined) return;
      oweAll.run({ store, spaceId });
      meta.set(prefix + spaceId, "1");
    },
    added: (hash) => void oweNoted.run({ store, hash, prefix }),
    owe: (spaceId, hash) => void owe.run(store, spaceId, hash),
    next(limit) {
      const spaceId = space.get(store);
      return spaceId === undefined ? undefined : { spaceId, rows: some.all({ store, spaceId, limit }) };
    },
    paid(spaceId, hashes) {
      for (const hash of hashes) pay.run(store, spaceId, hash);
    },
  };
}
