import type Database from "better-sqlite3";
import type { HashKey } from "../cache/hash-key.ts";

/**
 * Vectors that the store has from another host. Their texts count as embedded for this store alone, as nobody else can
 * search with them: their numbers are not known here. A text has either these or its numbers in the cache.
 */
export interface AdoptedVectors {
  has(spaceId: number, hash: HashKey): boolean;
  /** False where it has it already, or the numbers are known. */
  add(spaceId: number, hash: HashKey): boolean;
  /** The store does not have it after all. */
  withdraw(spaceId: number, hash: HashKey): void;
  /** Its numbers are known now, to all stores. */
  replaced(spaceId: number, hash: HashKey): void;
  /** Forgets those of these texts that no chunk of the store has any more. */
  forgetGone(hashes: readonly HashKey[]): void;
}

export function openAdoptedVectors(db: Database.Database, store: string): AdoptedVectors {
  const has = db
    .prepare<[HashKey, string, number], number>(
      "SELECT 1 FROM adopted_vectors WHERE hash = ? AND store = ? AND space_id = ?",
    )
    .pluck();
  const add = db.prepare<[Record<string, unknown>]>(`
    INSERT OR IGNORE INTO adopted_vectors (hash, store, space_id) SELECT :hash, :store, :spaceId
    WHERE NOT EXISTS (SELECT 1 FROM embedding_cache WHERE hash = :hash AND space_id = :spaceId)
  `);
  const withdraw = db.prepare<[HashKey, string, number]>(
    "DELETE FROM adopted_vectors WHERE hash = ? AND store = ? AND space_id = ?",
  );
  const replaced = db.prepare<[HashKey, number]>("DELETE FROM adopted_vectors WHERE hash = ? AND space_id = ?");
  const forgetGone = db.prepare<[{ hash: HashKey; store: string }]>(`
    DELETE FROM adopted_vectors WHERE hash = :hash AND store = :store AND NOT EXISTS (
      SELECT 1 FROM chunks c JOIN files f ON f.id = c.file_id JOIN generations g ON g.id = f.generation
      WHERE c.hash = :hash AND g.store = :store AND g.state <> 'dropped')
  `);
  return {
    has: (spaceId, hash) => has.get(hash, store, spaceId) !== undefined,
    add: (spaceId, hash) => add.run({ hash, store, spaceId }).changes > 0,
    withdraw: (spaceId, hash) => void withdraw.run(hash, store, spaceId),
    replaced: (spaceId, hash) => void replaced.run(hash, spaceId),
    forgetGone(hashes) {
      for (const hash of hashes) forgetGone.run({ hash, store });
    },
  };
}
