import type Database from "better-sqlite3";
import type { EmbeddingCache } from "./embedding-cache.ts";
import type { HashKey } from "./hash-key.ts";
import type { Transactions } from "../database/transactions.ts";

/** Vectors that one transaction deletes at most. */
const batchVectors = 500;
/** Vectors whose turn is next, found in one pass over the cache. */
const queueVectors = 4096;

/** Brings the cache of vectors down to its size, over all spaces, what was used longest ago first. */
export interface Eviction {
  /** Deletes a batch of what is too much. True: there may be more. */
  step(): boolean;
  /** Something has happened that may have made vectors superfluous. */
  wake(): void;
}

interface Entry {
  hash: HashKey;
  spaceId: number;
  usedAt: number;
  vectorId: number;
}

/** `spacesInUse`: in these, chunks that are there keep their vectors. While there is none, nothing is deleted. */
export function createEviction(input: {
  db: Database.Database;
  transactions: Transactions;
  cache: EmbeddingCache;
  maxEntries: number;
  spacesInUse: ReadonlySet<number>;
}): Eviction {
  const { db, transactions, cache, maxEntries, spacesInUse } = input;
  const isLive =
    "space_id IN (SELECT value FROM json_each(:inUse)) AND EXISTS (SELECT 1 FROM chunks c WHERE c.hash = embedding_cache.hash)";
  const oldest = db.prepare<[{ inUse: string }], Entry>(`
    SELECT hash, space_id AS spaceId, used_at AS usedAt, vector_id AS vectorId FROM embedding_cache
    WHERE NOT (${isLive}) ORDER BY used_at, vector_id LIMIT ${queueVectors}
  `);
  // Since it was put into the queue it may have been used, or its space may have come into use.
  const remove = db.prepare<[Entry & { inUse: string }]>(
    `DELETE FROM embedding_cache WHERE hash = :hash AND space_id = :spaceId AND used_at = :usedAt AND NOT (${isLive})`,
  );
  const removeVector = db.prepare<[number]>("DELETE FROM vectors WHERE id = ?");
  let queue: Entry[] = [];
  /** All that is too much belongs to chunks that are there. */
  let nothingLeft = false;

  return {
    step() {
      if (spacesInUse.size === 0 || nothingLeft) return false;
      let surplus = cache.count() - maxEntries;
      if (surplus <= 0) return false;
      const inUse = JSON.stringify([...spacesInUse]);
      if (queue.length === 0) queue = transactions.read(() => oldest.all({ inUse }));
      nothingLeft = queue.length === 0;
      if (nothingLeft) return false;
      const taken = transactions.write(() => {
        let looked = 0;
        for (const entry of queue.slice(0, batchVectors)) {
          if (surplus === 0) break;
          looked++;
          if (remove.run({ ...entry, inUse }).changes === 0) continue;
          removeVector.run(entry.vectorId);
          surplus--;
        }
        return looked;
      });
      queue = queue.slice(taken);
      return surplus > 0;
    },
    wake: () => void (nothingLeft = false),
  };
}
