import type Database from "better-sqlite3";
import { spaceName, type VectorSpace } from "../../chunk-store.ts";
import type { Transactions } from "../database/transactions.ts";
import type { Generations } from "../generations/generations.ts";
import type { OwedVectors as OwedBatch } from "../ledger.ts";
import type { DatabaseStore } from "../thread/protocol.ts";
import type { AdoptedVectors } from "./adopted-vectors.ts";
import type { EmbeddingCache } from "../cache/embedding-cache.ts";
import { type HashKey, toHash, toKey } from "../cache/hash-key.ts";
import type { OwedRow, OwedVectors } from "./owed-vectors.ts";
import type { Quarantine } from "./quarantine.ts";
import type { Spaces } from "./spaces.ts";
import { toVector } from "../cache/stored-vector.ts";

/** What the ledger does about the vectors of a store that keeps its own. */
export interface VectorsOfStore {
  calls: Pick<DatabaseStore, "oweVectors" | "owedVectors" | "paidVectors" | "adoptVectors">;
  /** The spaces that the store is to have. Like the rest inside a transaction. */
  noted(): { id: number; name: string }[];
  /**
   * The store does not have the vectors of all these texts. Where all count as embedded they are owed again, and those
   * that were adopted have to be made.
   */
  lacks(spaceId: number, hashes: readonly HashKey[]): void;
  /** The store has them all. */
  adopt(space: VectorSpace, hashes: readonly HashKey[]): void;
}

export function createVectorsOfStore(input: {
  db: Database.Database;
  transactions: Transactions;
  generations: Generations;
  spaces: Spaces;
  cache: EmbeddingCache;
  quarantine: Quarantine;
  adopted: AdoptedVectors;
  owed: OwedVectors;
  /** Makes the index that finds chunks by their hash. Outside of transactions. */
  prepare: () => void;
  /** From now on the vectors of this space are protected. */
  use: (spaceId: number) => void;
}): VectorsOfStore {
  const { db, transactions, generations, spaces, cache, quarantine, adopted, owed } = input;
  const hashesOf = db
    .prepare<[Record<string, unknown>], HashKey>(
      `SELECT DISTINCT c.hash FROM files f JOIN chunks c ON c.file_id = f.id
       WHERE f.generation = :generation AND f.source = :source AND f.path = :path`,
    )
    .pluck();

  function adopt(space: VectorSpace, hashes: readonly HashKey[]): void {
    if (hashes.length === 0) return;
    const spaceId = spaces.add(space);
    for (const hash of hashes) if (adopted.add(spaceId, hash)) quarantine.release(spaceId, hash);
  }

  function forgetGone(limit: number): void {
    const batch = owed.next(limit);
    if (batch)
      owed.paid(
        batch.spaceId,
        batch.rows.filter(isGone).map(({ hash }) => hash),
      );
  }

  function batchOf(spaceId: number, rows: readonly OwedRow[]): OwedBatch | undefined {
    const space = spaces.get(spaceId);
    const entries = rows.flatMap(({ hash, embedding }) =>
      // A copy: it goes to another thread, and would bring the buffer that it was cut from.
      embedding === null ? [] : [{ hash: toHash(hash), vector: toVector(embedding).slice() }],
    );
    return space && entries.length > 0 ? { space, entries } : undefined;
  }

  return {
    calls: {
      oweVectors(space) {
        input.prepare();
        const known = spaces.find(space);
        const isNoted = known !== undefined && transactions.read(() => owed.noted()).includes(known);
        if (isNoted) return input.use(known);
        input.use(
          transactions.write(() => {
            const spaceId = spaces.add(space);
            owed.note(spaceId);
            return spaceId;
          }),
        );
      },
      owedVectors(limit) {
        input.prepare();
        for (;;) {
          const found = transactions.read(() => owed.next(Math.max(1, limit)));
          if (found === undefined) return undefined;
          if (found.rows.some(isGone)) transactions.write(() => forgetGone(found.rows.length));
          const batch = batchOf(found.spaceId, found.rows);
          if (batch) return batch;
        }
      },
      paidVectors(space, hashes) {
        const spaceId = spaces.find(space);
        if (spaceId !== undefined && hashes.length > 0) transactions.write(() => owed.paid(spaceId, hashes.map(toKey)));
      },
      adoptVectors(space, files) {
        if (files.length === 0) return;
        transactions.write(() => {
          const live = generations.live();
          for (const { path, source } of files)
            for (const generation of live) adopt(space, hashesOf.all({ generation, path, source }));
        });
      },
    },
    noted: () =>
      owed.noted().flatMap((id) => {
        const space = spaces.get(id);
        return space ? [{ id, name: spaceName(space) }] : [];
      }),
    lacks(spaceId, hashes) {
      const isKnown = (hash: HashKey): boolean => cache.has(spaceId, hash) || adopted.has(spaceId, hash);
      if (!hashes.every(isKnown)) return;
      for (const hash of hashes) {
        if (cache.has(spaceId, hash)) owed.owe(spaceId, hash);
        else adopted.withdraw(spaceId, hash);
      }
    },
    adopt,
  };
}

function isGone({ embedding }: OwedRow): boolean {
  return embedding === null;
}
