import type { ChunkIndex, IndexHealth, IndexVectorAnswer, VectorQuery, VectorSpace } from "@memslot/indexing";
import type Database from "better-sqlite3";
import { byScore, type ReadRows } from "../chunk-rows.ts";
import { createClock } from "../clock.ts";
import { checkVector } from "./check-vector.ts";
import { similarityTo, toVector } from "./cosine.ts";
import { createHashIndex, type EmbeddedChunks, openEmbeddedChunks } from "./embedded-chunks.ts";
import { openEmbeddingCache } from "./embedding-cache.ts";
import { createDeadVectors, type DeadVectors } from "./dead-vectors.ts";
import { createEviction } from "./eviction.ts";
import { createFastLayout } from "./fast-layout.ts";
import type { ChunkListener } from "../file-tables.ts";
import type { Generations } from "../generations/generations.ts";
import { type HashKey, toKey } from "./hash-key.ts";
import type { Meta } from "../file/meta.ts";
import { createMissingVectors } from "./missing-vectors.ts";
import type { DatabaseStore } from "../protocol.ts";
import { openQuarantine } from "./quarantine.ts";
import { hasTable } from "../file/schema.ts";
import { openSpaces } from "./spaces.ts";
import { isBusy } from "../file/store-errors.ts";
import type { Transactions } from "../transactions.ts";
import { hasHoles, hasManyHoles } from "./vector-index.ts";

/** Stands for a space that the database does not know: no vector belongs to it. */
const unknownSpace = 0;

/** So many chunks leave half an empty block in the layout. */
const removedBeforeLook = 64;

/** The calls of a store that are about vectors. */
type VectorMethod = Extract<
  keyof ChunkIndex,
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
  /** The same, where the vectors that were put in last drove out more than one call should delete; and mends many holes. */
  tidy(): boolean;
  /** The space that is laid out for a generation. */
  held(generation: number): number | undefined;
  /** True when the layout could be smaller. Called inside a transaction. */
  hasHoles(generation: number): boolean;
  /** Makes the layout of a generation anew from the stored vectors; where that cannot be, it is not relied on any more. */
  layOutAnew(generation: number): void;
  dead: DeadVectors;
  /** The bytes of the vector of a text. */
  embeddingOf(space: VectorSpace, hash: HashKey): Buffer | undefined;
  /** Lays out what a build that is being made holds, as far as this process searches by meaning. */
  prepare(generation: number): void;
  /** Deletes what is laid out for a generation that is dropped, inside a transaction. False where only sqlite-vec could. */
  drop(generation: number): boolean;
  health(): IndexHealth["vector"];
}

export function createVectors(input: {
  db: Database.Database;
  meta: Meta;
  transactions: Transactions;
  generations: Generations;
  readRows: ReadRows;
  settings: { enabled: boolean; extensionPath?: string | undefined };
  cacheMaxEntries: number;
  notice: (line: string) => void;
}): Vectors {
  const { db, transactions, generations } = input;
  const now = createClock();
  const spaces = openSpaces(db);
  const cache = openEmbeddingCache(db);
  const quarantine = openQuarantine(db);
  const fast = createFastLayout(input);
  /** Spaces that this process searches or fills: their chunks keep their vectors. */
  const spacesInUse = new Set<number>();
  const eviction = createEviction({ db, transactions, cache, maxEntries: input.cacheMaxEntries, spacesInUse });
  const dead = createDeadVectors({
    db,
    meta: input.meta,
    transactions,
    generations,
    prepare: () => void embeddedChunks(),
  });
  const missing = createMissingVectors({ db, transactions, generations, quarantine, embeddedChunks });
  let chunksWithVectors: EmbeddedChunks | undefined;
  /** The space to lay out for fast search. */
  let wanted: { id: number; dimensions: number } | undefined;
  let isTooMuch = false;
  /** Chunks that have gone since the layout and their vectors were looked at. */
  let removed = 0;
  let hasChanged = false;
  let mayBeDead = false;
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

  function search(query: VectorQuery, spaceId: number): IndexVectorAnswer {
    const chunks = embeddedChunks();
    const similarity = similarityTo(query.vector);
    // Dropped by a process without sqlite-vec, or a build that took over without one. A process that wants another space
    // keeps it: the two would take turns for ever.
    const { id: answering } = generations.active();
    if (spaceId === wanted?.id && fast.held(answering) === undefined) fast.settle(answering, wanted, chunks);
    return transactions.read(() => {
      const generation = generations.active().id;
      // Of a few files the nearest may lie behind any number of others: all of theirs are compared.
      const nearest = query.scope ? undefined : fast.rank(generation, query, spaceId, similarity, chunks);
      const ranked = nearest ?? chunks.compareAll(spaceId, similarity, generation, query);
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

  function layOutAnew(generation: number): void {
    const id = transactions.read(() => fast.held(generation));
    const dimensions = id === undefined ? undefined : spaces.dimensionsOf(id);
    transactions.write(() => fast.distrust(generation));
    if (id !== undefined && dimensions !== undefined) fast.settle(generation, { id, dimensions }, embeddedChunks());
  }

  function mendHoles(): void {
    const generation = transactions.read(() => {
      const { id } = generations.active();
      const size = fast.held(id) === undefined ? undefined : fast.size(id);
      return size && hasManyHoles(size.rows, size.blocks) ? id : undefined;
    });
    if (generation !== undefined) layOutAnew(generation);
  }

  const calls: Vectors["calls"] = {
    useSpace(space) {
      const chunks = embeddedChunks();
      const spaceId = addSpace(space);
      spacesInUse.add(spaceId);
      const { id: answering } = generations.active();
      if (wanted?.id === spaceId && fast.held(answering) === spaceId) return;
      wanted = { id: spaceId, dimensions: space.dimensions };
      fast.settle(answering, wanted, chunks);
    },
    searchVector(query) {
      checkVector(query.vector, query.space);
      const spaceId = spaces.find(query.space);
      if (spaceId === undefined) return { rows: [] };
      spacesInUse.add(spaceId);
      return search(query, spaceId);
    },
    pendingVectors: (space, limit) => missing.pending(spaces.find(space) ?? unknownSpace, limit),
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
          for (const owner of owners) {
            if (fast.held(owner.generation) === id)
              fast.follow(owner.generation, (index) => index.put(owner.id, owner.source, vector));
          }
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
    quarantined: (space, limit) =>
      transactions.read(() => quarantine.list(spaces.find(space) ?? unknownSpace, generations.active().id, limit)),
    releaseQuarantine(space) {
      const id = spaces.find(space);
      if (id !== undefined) transactions.write(() => quarantine.releaseAll(id));
    },
    spaces: () => spaces.list(),
    spaceStats: (space, within) => missing.stats(spaces.find(space), within),
    probeVector: () => fast.isLoaded(),
  };

  return {
    calls,
    listener: {
      added({ id, hash, source, generation }) {
        cache.use(hash, (turn ??= now()));
        fast.follow(generation, (index, held) => {
          const embedding = cache.get(held, hash);
          if (embedding) index.put(id, source, toVector(embedding));
        });
      },
      removed({ id, hash, generation }) {
        cache.use(hash, (turn ??= now()));
        eviction.wake();
        removed++;
        fast.follow(generation, (index) => index.remove(id));
      },
      changed() {
        turn = undefined;
        hasChanged = true;
        quarantine.forgetGone();
      },
    },
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
        mendHoles();
      }
      return (mayBeDead &&= dead.step());
    },
    dead,
    held: fast.held,
    hasHoles(generation) {
      const size = fast.size(generation);
      return size !== undefined && hasHoles(size.rows, size.blocks);
    },
    layOutAnew,
    embeddingOf(space, hash) {
      const id = spaces.find(space);
      return id === undefined ? undefined : cache.get(id, hash);
    },
    prepare(generation) {
      if (wanted) fast.settle(generation, wanted, embeddedChunks());
    },
    drop: (generation) => fast.drop(generation),
    health: () => fast.health(),
  };
}
