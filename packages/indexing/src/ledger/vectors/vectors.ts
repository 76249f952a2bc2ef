import type { ChunkIndex, SpaceStats } from "../../chunk-index.ts";
import type { VectorSpace } from "../../chunk-store.ts";
import type Database from "better-sqlite3";
import type { Companion, LedgerParts } from "../database/companion.ts";
import { checkVector, toVector } from "../cache/stored-vector.ts";
import {
  createHashIndex,
  type EmbeddedChunks,
  openEmbeddedChunks,
  type FileChoice,
  type PendingText,
} from "./embedded-chunks.ts";
import { openEmbeddingCache } from "../cache/embedding-cache.ts";
import { createDeadVectors, type DeadVectors } from "../cache/dead-vectors.ts";
import { createEviction } from "../cache/eviction.ts";
import type { Generations } from "../generations/generations.ts";
import { type HashKey, toKey, toHash } from "../cache/hash-key.ts";
import { openAdoptedVectors } from "./adopted-vectors.ts";
import type { createMapPassages as MapPassages } from "../map/map-passages.ts";
import { openOwedVectors } from "./owed-vectors.ts";
import { createVectorsOfStore, type VectorsOfStore } from "./vectors-of-store.ts";
import type { Meta } from "../file/meta.ts";
import type { DatabaseStore } from "../thread/protocol.ts";
import { openQuarantine, type Quarantine } from "./quarantine.ts";
import { hasTable } from "../file/schema.ts";
import { openSpaces, type Spaces } from "./spaces.ts";
import { createKeptVectors, type KeptVectors } from "./kept-vectors.ts";
import type { Transactions } from "../database/transactions.ts";
import { createChunkCounter } from "../files/chunk-rows.ts";

/** Stands for a space that the database does not know: no vector belongs to it. */
const unknownSpace = 0;

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
export interface Vectors extends Pick<KeptVectors, "listener" | "trim" | "tidy"> {
  calls: Pick<DatabaseStore, VectorMethod | "sampleVectors" | "mapPassages"> & VectorsOfStore["calls"];
  ofStore: VectorsOfStore;
  /** What a companion uses of it. */
  shared: LedgerParts["vectors"];
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
  const spaces = openSpaces(db, store);
  const cache = openEmbeddingCache(db);
  const quarantine = openQuarantine(db, store);
  const adopted = openAdoptedVectors(db, store);
  const owed = openOwedVectors(db, meta, store);
  /** Spaces that this process searches or fills: their chunks keep their vectors. */
  const spacesInUse = new Set<number>();
  const eviction = createEviction({ db, transactions, cache, maxEntries: input.cacheMaxEntries, spacesInUse });
  const dead = createDeadVectors({ db, meta, transactions, prepare: embeddedChunks });
  const missing = createMissingVectors({ db, transactions, generations, quarantine, embeddedChunks });
  let chunksWithVectors: EmbeddedChunks | undefined;
  let sampledVectors: SampledVectors | undefined;
  let mapPassages: ReturnType<typeof MapPassages> | undefined;
  const common = { db, transactions, generations, spaces, cache, quarantine, adopted };
  const { put, ...kept } = createKeptVectors({
    ...common,
    spacesInUse,
    eviction,
    dead,
    owed: owesVectors ? owed : undefined,
    embeddedChunks,
    companion,
  });
  const ofStore = createVectorsOfStore({
    ...common,
    owed,
    prepare: embeddedChunks,
    use: (spaceId) => void spacesInUse.add(spaceId),
  });

  /** Called outside of transactions, as the index it needs may have to be made first. */
  function embeddedChunks(): EmbeddedChunks {
    if (!chunksWithVectors && !hasTable(db, "chunks_by_hash")) transactions.write(() => db.exec(createHashIndex));
    return (chunksWithVectors ??= openEmbeddedChunks(db, store));
  }

  function isKnown(spaceId: number, hash: HashKey): boolean {
    return cache.has(spaceId, hash) || adopted.has(spaceId, hash);
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

  const calls: Vectors["calls"] = {
    useSpace(space) {
      embeddedChunks();
      const spaceId = spaces.find(space) ?? transactions.write(() => spaces.add(space));
      spacesInUse.add(spaceId);
      companion().useSpace({ id: spaceId, dimensions: space.dimensions });
    },
    pendingVectors: (space, limit) => missing.pending(spaces.find(space) ?? unknownSpace, limit),
    putVectors(space, entries) {
      for (const { vector } of entries) checkVector(vector, space);
      if (entries.length > 0) put(space, entries);
    },
    knownVectors(space, hashes) {
      const spaceId = spaces.find(space) ?? unknownSpace;
      return transactions.read(() => hashes.filter((hash) => isKnown(spaceId, toKey(hash))));
    },
    ...quarantineCalls({ transactions, generations, spaces, quarantine, isKnown, prepare: embeddedChunks }),
    spaces: () => spaces.list(),
    sampleVectors(space, count) {
      embeddedChunks();
      sampledVectors ??= createSampledVectors(db);
      const sampled = sampledVectors;
      return transactions.read(() => sampled(spaces.find(space) ?? unknownSpace, generations.active().id, count));
    },
    async *mapPassages(asked) {
      // Seldom asked for: what reads words is not loaded with every ledger.
      const { createMapPassages } = await import("../map/map-passages.ts");
      embeddedChunks();
      mapPassages ??= createMapPassages(db);
      const spaceId = asked.space && (spaces.find(asked.space) ?? unknownSpace);
      return yield* mapPassages(generations.active().id, spaceId, asked);
    },
    spaceStats: (space, within) => missing.stats(spaces.find(space), within),
    ...ofStore.calls,
  };

  return {
    calls,
    ofStore,
    ...kept,
    shared,
    dead,
    embeddingOf(space, hash) {
      const id = spaces.find(space);
      return id === undefined ? undefined : cache.get(id, hash);
    },
  };
}

function quarantineCalls(input: {
  transactions: Transactions;
  generations: Generations;
  spaces: Spaces;
  quarantine: Quarantine;
  /** True for a text that has a vector. */
  isKnown: (spaceId: number, hash: HashKey) => boolean;
  prepare: () => void;
}): Pick<Vectors["calls"], "quarantine" | "quarantined" | "releaseQuarantine"> {
  const { transactions, generations, spaces, quarantine } = input;
  return {
    quarantine(space, entries) {
      if (entries.length === 0) return;
      input.prepare();
      transactions.write(() => {
        const id = spaces.add(space);
        for (const { hash, reason } of entries) {
          const key = toKey(hash);
          if (!input.isKnown(id, key)) quarantine.add(id, key, reason);
        }
      });
    },
    quarantined: (space, limit) =>
      transactions.read(() => quarantine.list(spaces.find(space) ?? unknownSpace, generations.active().id, limit)),
    releaseQuarantine(space) {
      const id = spaces.find(space);
      if (id !== undefined) transactions.write(() => quarantine.releaseAll(id));
    },
  };
}

/** Some chunks of a generation with their vectors. */
type SampledVectors = (
  spaceId: number,
  generation: number,
  count: number,
) => { hash: string; text: string; vector: Float32Array }[];

/** Hashes have no order that means anything, so the lowest ones are a sample that is the same each time. */
function createSampledVectors(db: Database.Database): SampledVectors {
  // The index over the hashes ends the look as soon as there are enough.
  const select = db.prepare<[Record<string, number>], { hash: HashKey; text: string; embedding: Buffer }>(`
    SELECT c.hash, c.text, v.embedding
    FROM (
      SELECT min(c.id) AS id, e.vector_id AS vectorId
      FROM chunks c INDEXED BY chunks_by_hash
      CROSS JOIN embedding_cache e ON e.hash = c.hash AND e.space_id = :spaceId
      WHERE EXISTS (SELECT 1 FROM files f WHERE f.id = c.file_id AND f.generation = :generation)
      GROUP BY c.hash ORDER BY c.hash LIMIT :count
    ) s JOIN chunks c ON c.id = s.id JOIN vectors v ON v.id = s.vectorId ORDER BY c.hash
  `);
  return (spaceId, generation, count) =>
    select.all({ spaceId, generation, count }).map(({ hash, text, embedding }) => {
      // A copy: it goes to another thread, and would bring the buffer that it was cut from.
      return { hash: toHash(hash), text, vector: toVector(embedding).slice() };
    });
}

/** Which chunks of the build that answers, and of the one that is being made, have no vector yet. */
interface MissingVectors {
  /** Those of the build that answers first, each hash once. */
  pending(spaceId: number, limit: number): PendingText[];
  /** `spaceId` is undefined for a space that the database does not know. */
  stats(spaceId: number | undefined, within?: FileChoice): SpaceStats;
}

function createMissingVectors(input: {
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
