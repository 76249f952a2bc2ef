import type Database from "better-sqlite3";
import { toBytes } from "./stored-vector.ts";
import type { HashKey } from "./hash-key.ts";

/** The vectors themselves, each stored once, by space and by the hash of what was embedded. */
export interface EmbeddingCache {
  get(spaceId: number, hash: HashKey): Buffer | undefined;
  has(spaceId: number, hash: HashKey): boolean;
  put(spaceId: number, hash: HashKey, vector: Float32Array, at: number): void;
  /** Moves the vectors of a hash, in all spaces, to the end of the queue for eviction. */
  use(hash: HashKey, at: number): void;
  /** Vectors of all spaces. */
  count(): number;
}

export function openEmbeddingCache(db: Database.Database): EmbeddingCache {
  const find = db
    .prepare<[HashKey, number], number>("SELECT vector_id FROM embedding_cache WHERE hash = ? AND space_id = ?")
    .pluck();
  const get = db.prepare<[number], Buffer>("SELECT embedding FROM vectors WHERE id = ?").pluck();
  const insertVector = db.prepare<[Buffer]>("INSERT INTO vectors (embedding) VALUES (?)");
  const insert = db.prepare<[HashKey, number, number, number]>(
    "INSERT INTO embedding_cache (hash, space_id, used_at, vector_id) VALUES (?, ?, ?, ?)",
  );
  const update = db.prepare<[Buffer, number]>("UPDATE vectors SET embedding = ? WHERE id = ?");
  const useOne = db.prepare<[number, HashKey, number]>(
    "UPDATE embedding_cache SET used_at = ? WHERE hash = ? AND space_id = ?",
  );
  const spacesOf = db.prepare<[HashKey], number>("SELECT space_id FROM embedding_cache WHERE hash = ?").pluck();
  const count = db.prepare<[], number>("SELECT count(*) FROM embedding_cache").pluck();
  return {
    get(spaceId, hash) {
      const id = find.get(hash, spaceId);
      return id === undefined ? undefined : get.get(id);
    },
    has: (spaceId, hash) => find.get(hash, spaceId) !== undefined,
    put(spaceId, hash, vector, at) {
      const id = find.get(hash, spaceId);
      if (id === undefined) {
        insert.run(hash, spaceId, at, Number(insertVector.run(toBytes(vector)).lastInsertRowid));
      } else {
        update.run(toBytes(vector), id);
        useOne.run(at, hash, spaceId);
      }
    },
    use(hash, at) {
      // One row at a time: an update that may meet several doubles what the insert of a chunk's words costs.
      for (const spaceId of spacesOf.all(hash)) useOne.run(at, hash, spaceId);
    },
    count: () => count.get() ?? 0,
  };
}
