import { reasonOf, StoreFailure } from "./store-failure.ts";
import type { StoreHealth, VectorAnswer, VectorQuery, VectorSpace } from "@memslot/indexing";
import type Database from "better-sqlite3";
import { byScore, type ReadRows, type ScoredId } from "./chunk-rows.ts";
import { lengthOf, type Similarity, similarityTo } from "./cosine.ts";
import { createHashIndex, type EmbeddingCache, openEmbeddingCache } from "./embedding-cache.ts";
import type { ChunkListener } from "./file-tables.ts";
import { type Meta, metaKeys } from "./meta.ts";
import { hasTable } from "./schema.ts";
import { isBusy, isFileFailure } from "./store-errors.ts";
import { loadSqliteVec } from "./sqlite-vec.ts";
import type { Transactions } from "./transactions.ts";
import { createVectorIndex, maxNeighbours, type VectorIndex } from "./vector-index.ts";

/** sqlite-vec counts in single precision: candidates beyond the limit are asked for, and the exact score decides. */
const spareCandidates = 32;
const scoreDoubt = 1e-5;

/** The vector half of the store. */
export interface Vectors {
  listener: ChunkListener;
  useSpace(space: VectorSpace): void;
  pendingVectors(limit: number): { hash: string; context: string; text: string }[];
  putVectors(entries: readonly { hash: string; vector: Float32Array }[]): void;
  searchVector(query: VectorQuery): VectorAnswer;
  /** False: vectors are compared one by one. */
  probeVector(): boolean;
  /** Chunks that have a vector in the space in use; 0 without a space. */
  countEmbedded(): number;
  /** Brings the cache down to its size. */
  trim(): void;
  health(): StoreHealth["vector"];
}

interface ActiveSpace {
  space: VectorSpace;
  cache: EmbeddingCache;
  /** Undefined where sqlite-vec does not work: then every vector is compared. */
  index: VectorIndex | undefined;
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
  const { db, meta, transactions, settings } = input;
  let active: ActiveSpace | undefined;
  let health: StoreHealth["vector"] = { ...settings };

  /** Loads sqlite-vec at the first need of it. */
  function isLoaded(): boolean {
    if (!settings.enabled) return false;
    if (health.available === undefined) {
      const outcome = loadSqliteVec(db, settings.extensionPath);
      health = {
        ...health,
        available: outcome.ok,
        ...(outcome.path === undefined ? {} : { extensionPath: outcome.path }),
      };
      if (!outcome.ok) giveUpIndex(outcome.error);
    }
    return health.available === true;
  }

  function giveUpIndex(error: string): void {
    health = { ...health, available: false, loadError: error };
    if (active) active.index = undefined;
    input.notice(
      `sqlite-vec cannot be used (${error}): search by meaning compares all vectors instead, with the same results but slower; reinstall sqlite-vec or correct store.vector.extensionPath`,
    );
  }

  /** Work on the index that must not fail the call: what it holds can be made anew. Gives whether it went well. */
  function attempt(work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      if (isFileFailure(error)) throw error;
      giveUpIndex(reasonOf(error));
      return false;
    }
  }

  /** Keeps the index in step inside a transaction that changes chunks or vectors, or says that it is not. */
  function follow(work: (index: VectorIndex) => void): void {
    const index = active?.index;
    if (index?.isCurrent() && attempt(() => work(index))) return;
    meta.delete(metaKeys.vectorSpace);
  }

  /** Makes the index anew unless it holds what it should. */
  function settleIndex({ cache, index }: ActiveSpace): void {
    if (!index) return;
    const settled = transactions.read(() => index.isCurrent() && index.fits(cache.countEmbedded()));
    if (settled) return;
    try {
      attempt(() => transactions.write(() => index.rebuild()));
    } catch (error) {
      // Another process writes for long. All vectors are compared until the next time.
      if (!isBusy(error)) throw error;
    }
  }

  function trim(): void {
    if (!active) return;
    const { cache, index } = active;
    if (cache.count() <= input.cacheMaxEntries) return;
    transactions.write(() => {
      const { otherSpaces } = cache.evict(input.cacheMaxEntries);
      // The table may be the copy of a space that has just lost vectors.
      if (otherSpaces && !index?.isCurrent()) meta.delete(metaKeys.vectorSpace);
    });
  }

  function needSpace(): ActiveSpace {
    if (!active) throw new StoreFailure("INVALID_ARGUMENT", "useSpace has to be called before vectors are used");
    return active;
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

  /** The best by way of the index; undefined where it cannot tell who is among the best. */
  function rankByIndex(
    query: VectorQuery,
    similarity: Similarity,
    { cache, index }: ActiveSpace,
  ): ScoredId[] | undefined {
    if (!index?.isCurrent()) return undefined;
    const asked = Math.min(maxNeighbours, query.limit * 2 + spareCandidates);
    const ranked: ScoredId[] = [];
    let clear = true;
    const answered = attempt(() => {
      for (const source of query.sources) {
        const ids = index.nearest(query.vector, source, asked);
        const scored = cache.compare(similarity, ids).toSorted(byScore);
        const last = scored.at(-1);
        const lastWanted = scored[query.limit - 1];
        // As many ties as candidates: there may be more of them that were not looked at.
        if (ids.length === asked && (!last || !lastWanted || lastWanted.score - last.score < scoreDoubt)) clear = false;
        ranked.push(...scored);
      }
    });
    return answered && clear ? ranked : undefined;
  }

  return {
    listener: {
      added({ id, hash, source }) {
        const embedding = active?.cache.get(hash);
        follow((index) => {
          if (embedding !== undefined) index.put(id, source, embedding);
        });
      },
      removed({ id, hash }) {
        active?.cache.use(hash);
        follow((index) => index.remove(id));
      },
    },
    useSpace(space) {
      if (!hasTable(db, "chunks_by_hash")) transactions.write(() => db.exec(createHashIndex));
      active = {
        space,
        cache: openEmbeddingCache(db, space),
        index: isLoaded() ? createVectorIndex(db, meta, space) : undefined,
      };
      settleIndex(active);
    },
    pendingVectors: (limit) => needSpace().cache.pending(limit),
    putVectors(entries) {
      const { space, cache } = needSpace();
      for (const { vector } of entries) checkVector(vector, space);
      if (entries.length === 0) return;
      transactions.write(() => {
        for (const { hash, vector } of entries) {
          cache.put(hash, vector);
          follow((index) => {
            const embedding = cache.get(hash);
            for (const { id, source } of cache.chunksWith(hash)) if (embedding) index.put(id, source, embedding);
          });
        }
      });
      trim();
    },
    searchVector(query) {
      const current = needSpace();
      checkVector(query.vector, current.space);
      const similarity = similarityTo(query.vector);
      // Dropped by a process without sqlite-vec. One that uses another space keeps it: the two would take turns for ever.
      if (current.index && !current.index.isCurrent() && !current.index.isTaken()) settleIndex(current);
      return transactions.read(() => {
        const ranked = rankByIndex(query, similarity, current) ?? current.cache.compareAll(similarity, query.sources);
        return { rows: input.readRows(ranked.toSorted(byScore).slice(0, query.limit)) };
      });
    },
    probeVector: isLoaded,
    countEmbedded: () => active?.cache.countEmbedded() ?? 0,
    trim,
    health: () => health,
  };
}
