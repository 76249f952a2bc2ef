import type { ChunkIndex } from "../../chunk-index.ts";
import type { VectorSpace } from "../../chunk-store.ts";
import type Database from "better-sqlite3";
import type { Companion, LedgerParts } from "../database/companion.ts";
import { createClock } from "./clock.ts";
import { checkVector } from "../cache/check-vector.ts";
import { createHashIndex, type EmbeddedChunks, openEmbeddedChunks } from "./embedded-chunks.ts";
import { openEmbeddingCache } from "../cache/embedding-cache.ts";
import { createDeadVectors, type DeadVectors } from "../cache/dead-vectors.ts";
import { createEviction } from "../cache/eviction.ts";
import type { Generations } from "../generations/generations.ts";
import { type HashKey, toKey } from "../cache/hash-key.ts";
import { openAdoptedVectors } from "./adopted-vectors.ts";
import { openOwedVectors } from "./owed-vectors.ts";
import { createVectorsOfStore, type VectorsOfStore } from "./vectors-of-store.ts";
import type { Meta } from "../file/meta.ts";
import { createMissingVectors } from "./missing-vectors.ts";
import type { DatabaseStore } from "../thread/protocol.ts";
import { openQuarantine } from "./quarantine.ts";
import { hasTable } from "../file/schema.ts";
import { openSpaces } from "./spaces.ts";
import { isBusy } from "../file/store-errors.ts";
import type { Transactions } from "../database/transactions.ts";

/** Stands for a space that the database does not know: no vector belongs to it. */
const unknownSpace = 0;

/** So many chunks have to go before it is worth a look whether their vectors are too many. */
const removedBeforeLook = 64;

/** The calls of a ledger that are about vectors. */
type VectorMethod = Extract<
  keyof ChunkIndex,
  | "useSpace"
  | "pendingVectors"
  | "putVectors"
  | "knownVectors"
  | "quarantine"
  | "quarantined"
  | "releaseQuarantine"
  | "spaces"
  | "spaceStats"
>;

/** The vector half of the ledger. */
export interface Vectors {
  calls: Pick<DatabaseStore, VectorMethod> & VectorsOfStore["calls"];
  ofStore: VectorsOfStore;
  /** In step with the chunks, inside the transaction that changes them. */
  listener: {
    added(chunk: { hash: HashKey }): void;
    removed(chunk: { hash: HashKey }): void;
    changed(): void;
  };
  /** What a companion uses of it. */
  shared: LedgerParts["vectors"];
  /** Deletes a batch of what the cache holds too much. True: there may be more. */
  trim(): boolean;
  /** The same, where the vectors that were put in last drove out more than one call should delete. */
  tidy(): boolean;
  dead: DeadVectors;
  /** The bytes of the vector of a text. */
  embeddingOf(space: VectorSpace, hash: HashKey): Buffer | undefined;
}

export function createVectors(input: {
  db: Database.Database;
  meta: Meta;
  transactions: Transactions;
  generations: Generations;
  /** Asked when it is needed, as it is made with what this gives. */
  companion: () => Pick<Companion, "embedded" | "useSpace">;
  cacheMaxEntries: number;
  store: string;
  /** The store keeps its own vectors, and what comes into the cache is owed to it. */
  owesVectors: boolean;
}): Vectors {
  const { db, meta, transactions, generations, companion, store, owesVectors } = input;
  const now = createClock();
  const spaces = openSpaces(db);
  const cache = openEmbeddingCache(db);
  const quarantine = openQuarantine(db, store);
  const adopted = openAdoptedVectors(db, store);
  const owed = openOwedVectors(db, meta, store);
  /** Spaces that this process searches or fills: their chunks keep their vectors. */
  const spacesInUse = new Set<number>();
  const eviction = createEviction({ db, transactions, cache, maxEntries: input.cacheMaxEntries, spacesInUse });
  const dead = createDeadVectors({
    db,
    meta,
    transactions,
    prepare: () => void embeddedChunks(),
  });
  const missing = createMissingVectors({ db, transactions, generations, quarantine, embeddedChunks });
  let chunksWithVectors: EmbeddedChunks | undefined;
  /** Texts of chunks that the transaction has taken out. */
  let gone: HashKey[] = [];
  let isTooMuch = false;
  /** Chunks that have gone since their vectors were looked at. */
  let removed = 0;
  let hasChanged = false;
  let mayBeDead = false;
  /** When what is being written now happens. */
  let turn: number | undefined;

  /** Called outside of transactions, as the index it needs may have to be made first. */
  function embeddedChunks(): EmbeddedChunks {
    if (!chunksWithVectors && !hasTable(db, "chunks_by_hash")) transactions.write(() => db.exec(createHashIndex));
    return (chunksWithVectors ??= openEmbeddedChunks(db, store));
  }

  function isKnown(spaceId: number, hash: HashKey): boolean {
    return cache.has(spaceId, hash) || adopted.has(spaceId, hash);
  }

  function addSpace(space: VectorSpace): number {
    return spaces.find(space) ?? transactions.write(() => spaces.add(space));
  }

  function trim(): boolean {
    try {
      return eviction.step();
    } catch (error) {
      // Another process writes for long. There will be another time.
      if (!isBusy(error)) throw error;
      return false;
    }
  }

  const shared: Vectors["shared"] = {
    use(space) {
      const spaceId = spaces.find(space);
      if (spaceId !== undefined) spacesInUse.add(spaceId);
      return spaceId;
    },
    dimensionsOf: (spaceId) => spaces.get(spaceId)?.dimensions,
    get: cache.get,
    chunks: embeddedChunks,
  };

  const ofStore = createVectorsOfStore({
    db,
    transactions,
    generations,
    spaces,
    cache,
    quarantine,
    adopted,
    owed,
    prepare: () => void embeddedChunks(),
    use: (spaceId) => void spacesInUse.add(spaceId),
  });

  const calls: Vectors["calls"] = {
    useSpace(space) {
      embeddedChunks();
      const spaceId = addSpace(space);
      spacesInUse.add(spaceId);
      companion().useSpace({ id: spaceId, dimensions: space.dimensions });
    },
    pendingVectors: (space, limit) => missing.pending(spaces.find(space) ?? unknownSpace, limit),
    putVectors(space, entries) {
      for (const { vector } of entries) checkVector(vector, space);
      if (entries.length === 0) return;
      const chunks = embeddedChunks();
      const spaceId = transactions.write(() => {
        const id = spaces.add(space);
        if (owesVectors) owed.note(id);
        const live = generations.live();
        const at = now();
        spaces.written(id, at);
        for (const { hash, vector } of entries) {
          const key = toKey(hash);
          cache.put(id, key, vector, at);
          quarantine.release(id, key);
          adopted.replaced(id, key);
          const owners = chunks.chunksWith(key);
          if (owners.length === 0) eviction.wake();
          for (const owner of owners) companion().embedded(id, owner, vector);
          if (owesVectors && owners.some(({ generation }) => live.includes(generation))) owed.owe(id, key);
        }
        return id;
      });
      spacesInUse.add(spaceId);
      // What these drive out goes at once; where it is much, the rest goes between the calls that follow.
      isTooMuch = trim() && trim();
    },
    knownVectors(space, hashes) {
      const spaceId = spaces.find(space) ?? unknownSpace;
      return transactions.read(() => hashes.filter((hash) => isKnown(spaceId, toKey(hash))));
    },
    quarantine(space, entries) {
      if (entries.length === 0) return;
      embeddedChunks();
      transactions.write(() => {
        const id = spaces.add(space);
        for (const { hash, reason } of entries) {
          const key = toKey(hash);
          if (!isKnown(id, key)) quarantine.add(id, key, reason);
        }
      });
    },
    quarantined: (space, limit) =>
      transactions.read(() => quarantine.list(spaces.find(space) ?? unknownSpace, generations.active().id, limit)),
    releaseQuarantine(space) {
      const id = spaces.find(space);
      if (id !== undefined) transactions.write(() => quarantine.releaseAll(id));
    },
    spaces: () => spaces.list(),
    spaceStats: (space, within) => missing.stats(spaces.find(space), within),
    ...ofStore.calls,
  };

  return {
    calls,
    ofStore,
    listener: {
      added({ hash }) {
        cache.use(hash, (turn ??= now()));
        if (owesVectors) owed.added(hash);
      },
      removed({ hash }) {
        cache.use(hash, (turn ??= now()));
        gone.push(hash);
        eviction.wake();
        removed++;
      },
      changed() {
        turn = undefined;
        hasChanged = true;
        quarantine.forgetGone();
        adopted.forgetGone(gone);
        gone = [];
      },
    },
    shared,
    trim,
    tidy() {
      if (isTooMuch) return (isTooMuch = trim());
      if (hasChanged) {
        hasChanged = false;
        dead.note();
      }
      if (removed >= removedBeforeLook) {
        removed = 0;
        mayBeDead = true;
      }
      return (mayBeDead &&= dead.step());
    },
    dead,
    embeddingOf(space, hash) {
      const id = spaces.find(space);
      return id === undefined ? undefined : cache.get(id, hash);
    },
  };
}
