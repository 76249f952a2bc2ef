import type { ChunkStore, StoreHealth, VectorAnswer, VectorQuery, VectorSpace } from "@memslot/indexing";
import type Database from "better-sqlite3";
import { byScore, type ReadRows } from "./chunk-rows.ts";
import { createClock } from "./clock.ts";
import { lengthOf, similarityTo, toVector } from "./cosine.ts";
import { createHashIndex, type EmbeddedChunks, openEmbeddedChunks } from "./embedded-chunks.ts";
import { openEmbeddingCache } from "./embedding-cache.ts";
import { createEviction } from "./eviction.ts";
import { createFastLayout } from "./fast-layout.ts";
import type { ChunkListener } from "./file-tables.ts";
import { toKey } from "./hash-key.ts";
import { createChunkCounter } from "./keyword-search.ts";
import type { Meta } from "./meta.ts";
import type { DatabaseStore } from "./protocol.ts";
import { openQuarantine } from "./quarantine.ts";
import { hasTable } from "./schema.ts";
import { openSpaces } from "./spaces.ts";
import { isBusy } from "./store-errors.ts";
import { StoreFailure } from "./store-failure.ts";
import type { Transactions } from "./transactions.ts";

/** Stands for a space that the database does not know: no vector belongs to it. */
const unknownSpace = 0;

/** The calls of a store that are about vectors. */
type VectorMethod = Extract<
  keyof ChunkStore,
  | "useSpace"
  | "searchVector"
  | "pendingVectors"
  | "putVectors"
  | "knownVectors"
  | "quarantine"
  | "quarantined"
  | "releaseQuarantine"
  | "spaces"
  | "spaceStats"
  | "probeVector"
>;

/** The vector half of the store. */
export interface Vectors {
  calls: Pick<DatabaseStore, VectorMethod>;
  listener: ChunkListener;
  /** Deletes a batch of what the cache holds too much. True: there may be more. */
  trim(): boolean;
  /** The same, where the vectors that were put in last drove out more than one call should delete. */
  tidy(): boolean;
  health(): StoreHealth["vector"];
}

export function createVectors(input: {
  db: Database.Database;
  meta: Meta;
  transactions: Transactions;
  readRows: ReadRows;
  settings: { enabled: boolean; extensionPath?: string | undefined };
  cacheMaxEntries: number;
  notice: (line: string) => void;
}): Vectors {
  const { db, transactions } = input;
  const now = createClock();
  const spaces = openSpaces(db);
  const cache = openEmbeddingCache(db);
  const quarantine = openQuarantine(db);
  const fast = createFastLayout(input);
  /** Spaces that this process searches or fills: their chunks keep their vectors. */
  const spacesInUse = new Set<number>();
  const eviction = createEviction({ db, transactions, cache, maxEntries: input.cacheMaxEntries, spacesInUse });
  const countChunks = createChunkCounter(db);
  let chunksWithVectors: EmbeddedChunks | undefined;
  /** The space to lay out for fast search. */
  let wanted: number | undefined;
  let isTooMuch = false;
  /** When what is being written now happens. */
  let turn: number | undefined;

  /** Called outside of transactions, as the index it needs may have to be made first. */
  function embeddedChunks(): EmbeddedChunks {
    if (!chunksWithVectors && !hasTable(db, "chunks_by_hash")) transactions.write(() => db.exec(createHashIndex));
    return (chunksWithVectors ??= openEmbeddedChunks(db));
  }

  function addSpace(space: VectorSpace): number {
    return spaces.find(space) ?? transactions.write(() => spaces.add(space));
  }

  function search(query: VectorQuery, spaceId: number): VectorAnswer {
    const chunks = embeddedChunks();
    const similarity = similarityTo(query.vector);
    // Dropped by a process without sqlite-vec. One that wants another space keeps it: the two would take turns for ever.
    if (spaceId === wanted && fast.held() === undefined)
      fast.settle({ id: spaceId, dimensions: query.space.dimensions }, chunks);
    return transactions.read(() => {
      const ranked =
        fast.rank(query, spaceId, similarity, chunks) ?? chunks.compareAll(spaceId, similarity, query.sources);
      return { rows: input.readRows(ranked.toSorted(byScore).slice(0, query.limit)) };
    });
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

  const calls: Vectors["calls"] = {
    useSpace(space) {
      const chunks = embeddedChunks();
      const spaceId = addSpace(space);
      spacesInUse.add(spaceId);
      if (wanted === spaceId && fast.held() === spaceId) return;
      wanted = spaceId;
      fast.settle({ id: spaceId, dimensions: space.dimensions }, chunks);
    },
    searchVector(query) {
      checkVector(query.vector, query.space);
      const spaceId = spaces.find(query.space);
      if (spaceId === undefined) return { rows: [] };
      spacesInUse.add(spaceId);
      return search(query, spaceId);
    },
    pendingVectors: (space, limit) => embeddedChunks().pending(spaces.find(space) ?? unknownSpace, limit),
    putVectors(space, entries) {
      for (const { vector } of entries) checkVector(vector, space);
      if (entries.length === 0) return;
      const chunks = embeddedChunks();
      const spaceId = transactions.write(() => {
        const id = spaces.add(space);
        const at = now();
        spaces.written(id, at);
        for (const { hash, vector } of entries) {
          const key = toKey(hash);
          cache.put(id, key, vector, at);
          quarantine.release(id, key);
          const owners = chunks.chunksWith(key);
          if (owners.length === 0) eviction.wake();
          if (fast.held() !== id) continue;
          fast.follow((index) => {
            for (const owner of owners) index.put(owner.id, owner.source, vector);
          });
        }
        return id;
      });
      spacesInUse.add(spaceId);
      // What these drive out goes at once; where it is much, the rest goes between the calls that follow.
      isTooMuch = trim() && trim();
    },
    knownVectors(space, hashes) {
      const spaceId = spaces.find(space) ?? unknownSpace;
      return transactions.read(() => hashes.filter((hash) => cache.has(spaceId, toKey(hash))));
    },
    quarantine(space, entries) {
      if (entries.length === 0) return;
      embeddedChunks();
      transactions.write(() => {
        const id = spaces.add(space);
        for (const { hash, reason } of entries) {
          const key = toKey(hash);
          if (!cache.has(id, key)) quarantine.add(id, key, reason);
        }
      });
    },
    quarantined: (space, limit) => quarantine.list(spaces.find(space) ?? unknownSpace, limit),
    releaseQuarantine(space) {
      const id = spaces.find(space);
      if (id !== undefined) transactions.write(() => quarantine.releaseAll(id));
    },
    spaces: () => spaces.list(),
    spaceStats(space) {
      const spaceId = spaces.find(space);
      const chunks = spaceId === undefined ? undefined : embeddedChunks();
      return transactions.read(() => {
        const all = countChunks();
        if (spaceId === undefined) return { embedded: 0, pending: all, quarantined: 0 };
        const embedded = chunks?.countEmbedded(spaceId) ?? 0;
        const quarantined = quarantine.count(spaceId);
        return { embedded, pending: all - embedded - quarantined, quarantined };
      });
    },
    probeVector: () => fast.isLoaded(),
  };

  return {
    calls,
    listener: {
      added({ id, hash, source }) {
        cache.use(hash, (turn ??= now()));
        fast.follow((index, held) => {
          const embedding = cache.get(held, hash);
          if (embedding) index.put(id, source, toVector(embedding));
        });
      },
      removed({ id, hash }) {
        cache.use(hash, (turn ??= now()));
        eviction.wake();
        fast.follow((index) => index.remove(id));
      },
      changed() {
        turn = undefined;
        quarantine.forgetGone();
      },
    },
    trim,
    tidy: () => (isTooMuch &&= trim()),
    health: () => fast.health(),
  };
}

function checkVector(vector: Float32Array, space: VectorSpace): void {
  if (vector.length !== space.dimensions) {
    throw new StoreFailure(
      "INVALID_ARGUMENT",
      `a vector has ${vector.length} numbers, the space ${space.provider}/${space.model} has ${space.dimensions}`,
    );
  }
  const length = lengthOf(vector);
  if (length === 0 || !Number.isFinite(length)) {
    throw new StoreFailure(
      "INVALID_ARGUMENT",
      `a vector of ${space.provider}/${space.model} is all zero or not finite`,
    );
  }
}
