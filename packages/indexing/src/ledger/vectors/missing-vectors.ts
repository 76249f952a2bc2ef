import type { SpaceStats } from "../../chunk-index.ts";
import type Database from "better-sqlite3";
import type { EmbeddedChunks, FileChoice, PendingText } from "./embedded-chunks.ts";
import type { Generations } from "../generations/generations.ts";
import { createChunkCounter } from "../files/chunk-rows.ts";
import type { Quarantine } from "./quarantine.ts";
import type { Transactions } from "../database/transactions.ts";

/** No vector belongs to it. */
const unknownSpace = 0;

/** Which chunks of the build that answers, and of the one that is being made, have no vector yet. */
export interface MissingVectors {
  /** Those of the build that answers first, each hash once. */
  pending(spaceId: number, limit: number): PendingText[];
  /** `spaceId` is undefined for a space that the database does not know. */
  stats(spaceId: number | undefined, within?: FileChoice): SpaceStats;
}

export function createMissingVectors(input: {
  db: Database.Database;
  transactions: Transactions;
  generations: Generations;
  quarantine: Quarantine;
  /** Called outside of transactions, as the index it needs may have to be made first. */
  embeddedChunks: () => EmbeddedChunks;
}): MissingVectors {
  const { transactions, generations, quarantine, embeddedChunks } = input;
  const countChunks = createChunkCounter(input.db);

  function countIn(generation: number, spaceId: number | undefined): Required<Omit<SpaceStats, "nextPending">> {
    const all = countChunks(generation);
    if (spaceId === undefined) return { embedded: 0, pending: all, quarantined: 0 };
    const embedded = embeddedChunks().countEmbedded(spaceId, generation);
    const quarantined = quarantine.count(spaceId, generation);
    return { embedded, pending: all - embedded - quarantined, quarantined };
  }

  return {
    pending(spaceId, limit) {
      const chunks = embeddedChunks();
      return transactions.read(() => {
        const first = chunks.pending(spaceId, generations.active().id, limit);
        const next = generations.next();
        if (!next || first.length >= limit) return first;
        const hashes = new Set(first.map(({ hash }) => hash));
        const further = chunks.pending(spaceId, next.id, limit).filter(({ hash }) => !hashes.has(hash));
        return [...first, ...further].slice(0, limit);
      });
    },
    stats(spaceId, within) {
      const chunks = spaceId === undefined && within === undefined ? undefined : embeddedChunks();
      return transactions.read(() => {
        if (within && chunks) return chunks.countWithin(spaceId ?? unknownSpace, generations.active().id, within);
        const next = generations.next();
        return {
          ...countIn(generations.active().id, spaceId),
          ...(next ? { nextPending: countIn(next.id, spaceId).pending } : {}),
        };
      });
    },
  };
}
