import type { IndexHealth, VectorQuery } from "@memslot/indexing";
import type Database from "better-sqlite3";
import {
  byScore,
  type EmbeddedChunks,
  type Generations,
  hasTable,
  isBusy,
  isFileFailure,
  type KnownSpace,
  type Meta,
  metaKeys,
  reasonOf,
  type ScoredId,
  type Transactions,
} from "@memslot/indexing/ledger-tables";
import type { Similarity, VectorComparison } from "./compare-vectors.ts";
import { highestCosine, toInt8 } from "./int8.ts";
import { loadSqliteVec } from "./sqlite-vec.ts";
import {
  createVectorIndexes,
  hasManyHoles,
  maxNeighbours,
  type Neighbour,
  type VectorIndex,
  vectorTable,
} from "./vector-index.ts";

/** Neighbours to ask for at first, beside twice the limit. A long list costs hardly more than a short one. */
const spareNeighbours = 1000;
/** Neighbours that are scored before it is asked again whether they are enough. */
const scoredAtOnce = 64;
/** What counting in double precision may lose. */
const scoreDoubt = 1e-9;

/**
 * The fast layout of one space for each generation, where sqlite-vec works. Without it everything goes on, by comparing
 * all vectors.
 */
export interface FastLayout {
  /** Loads sqlite-vec at the first need of it. False: vectors are compared one by one. */
  isLoaded(): boolean;
  /** The space that is laid out, whoever did it; undefined where the table cannot be relied on. */
  held(generation: number): number | undefined;
  /** Makes the table hold this space, unless it does already. Called outside of transactions. */
  settle(generation: number, space: KnownSpace, chunks: Pick<EmbeddedChunks, "countEmbedded">): void;
  /** Keeps the table in step, inside a transaction that changes chunks or vectors, or says that it is not. */
  follow(generation: number, work: (index: VectorIndex, spaceId: number) => void): void;
  /** Vectors and blocks of the table; undefined where there is none, or no sqlite-vec to make it anew. Called inside a transaction. */
  size(generation: number): { rows: number; blocks: number } | undefined;
  /** Says that the table cannot be relied on, inside a transaction. */
  distrust(generation: number): void;
  /** Deletes what is laid out for a generation, inside a transaction. True: there was a table, and it could be dropped. */
  drop(generation: number): boolean;
  /** True while there is a table. */
  holds(generation: number): boolean;
  /**
   * The best by way of the table; undefined where it cannot tell. Called inside a transaction. Where the table still has
   * chunks whose vectors another process has taken out of the cache, these are passed over.
   */
  rank(generation: number, query: VectorQuery, spaceId: number, similarity: Similarity): ScoredId[] | undefined;
  health(): IndexHealth["vector"];
}

export function createFastLayout(input: {
  db: Database.Database;
  meta: Meta;
  transactions: Transactions;
  settings: { enabled: boolean; extensionPath?: string | undefined };
  notice: (line: string) => void;
  generations: Generations;
  comparison: () => VectorComparison;
}): FastLayout {
  const { db, meta, transactions, settings, generations } = input;
  let health: IndexHealth["vector"] = { ...settings };
  let indexOf: ((generation: number) => VectorIndex) | undefined;

  function loaded(): ((generation: number) => VectorIndex) | undefined {
    if (!settings.enabled || health.available !== undefined) return indexOf;
    const { ok, path, ...outcome } = loadSqliteVec(db, settings.extensionPath);
    health = { ...health, available: ok, ...(path === undefined ? {} : { extensionPath: path }) };
    if ("error" in outcome) giveUp(outcome.error);
    else indexOf = createVectorIndexes(db, meta);
    return indexOf;
  }

  function giveUp(error: string): void {
    health = { ...health, available: false, loadError: error };
    indexOf = undefined;
    input.notice(
      `sqlite-vec cannot be used (${error}): search by meaning compares all vectors instead, with the same results but slower; reinstall sqlite-vec or correct store.vector.extensionPath`,
    );
  }

  /** Work on the table that must not fail the call: what it holds can be made anew. Gives whether it went well. */
  function attempt(work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      if (isFileFailure(error)) throw error;
      giveUp(reasonOf(error));
      return false;
    }
  }

  const spaceKey = (generation: number): string => `${metaKeys.vectorSpace}${generation}`;

  function held(generation: number): number | undefined {
    const id = meta.get(spaceKey(generation));
    return id === undefined ? undefined : Number(id);
  }

  function rebuild(generation: number, table: VectorIndex, space: KnownSpace): void {
    // Another process may have put the next one in its place.
    if (generations.live().includes(generation)) table.rebuild(space);
  }

  return {
    isLoaded: () => loaded() !== undefined,
    held,
    settle(generation, space, chunks) {
      const table = loaded()?.(generation);
      if (!table) return;
      const settled = transactions.read(
        () => held(generation) === space.id && fits(table.size(), chunks.countEmbedded(space.id, generation)),
      );
      if (settled) return;
      try {
        attempt(() => transactions.write(() => rebuild(generation, table, space)));
      } catch (error) {
        // Another process writes for long. All vectors are compared until the next time.
        if (!isBusy(error)) throw error;
      }
    },
    follow(generation, work) {
      const spaceId = held(generation);
      if (spaceId === undefined) return;
      const table = loaded()?.(generation);
      if (!table || !attempt(() => work(table, spaceId))) meta.delete(spaceKey(generation));
    },
    size: (generation) => loaded()?.(generation).size(),
    distrust: (generation) => meta.delete(spaceKey(generation)),
    drop(generation) {
      meta.delete(spaceKey(generation));
      meta.delete(`${metaKeys.vectorAngle}${generation}`);
      const table = vectorTable(generation);
      return hasTable(db, table) && loaded() !== undefined && attempt(() => db.exec(`DROP TABLE ${table}`));
    },
    holds: (generation) => hasTable(db, vectorTable(generation)),
    rank(generation, query, spaceId, similarity) {
      const table = loaded()?.(generation);
      if (!table || held(generation) !== spaceId) return undefined;
      let ranked: ScoredId[] | undefined;
      attempt(() => (ranked = rankSources(table, query, spaceId, similarity, input.comparison())));
      return ranked;
    },
    health: () => health,
  };
}

/** True when its size is that of `embedded` vectors, with few holes. */
function fits(size: ReturnType<VectorIndex["size"]>, embedded: number): boolean {
  return size !== undefined && size.rows === embedded && !hasManyHoles(size.rows, size.blocks);
}

function rankSources(
  table: VectorIndex,
  query: VectorQuery,
  spaceId: number,
  similarity: Similarity,
  comparison: VectorComparison,
): ScoredId[] | undefined {
  const rounded = toInt8(query.vector);
  const angles = rounded.angle + table.angle();
  const ranked: ScoredId[] = [];
  for (const source of query.sources) {
    const best = rankSource({
      limit: query.limit,
      nearest: (limit) => table.nearest(rounded.bytes, source, limit),
      score: (ids) => comparison.some(spaceId, similarity, ids),
      highest: ({ distance }) => highestCosine(1 - distance, angles, query.vector.length),
    });
    if (!best) return undefined;
    ranked.push(...best);
  }
  return ranked;
}

/**
 * Goes down the list of neighbours, nearest first, and scores them until none that follows can be among the best. Gives
 * undefined where the list, as long as sqlite-vec makes it, ends before that.
 */
function rankSource(input: {
  limit: number;
  nearest: (limit: number) => Neighbour[];
  score: (ids: readonly number[]) => ScoredId[];
  /** The highest score that a neighbour, or one that lies behind it, can have. */
  highest: (neighbour: Neighbour) => number;
}): ScoredId[] | undefined {
  const { limit } = input;
  for (const asked of [Math.min(maxNeighbours, limit * 2 + spareNeighbours), maxNeighbours]) {
    const neighbours = input.nearest(asked);
    let best: ScoredId[] = [];
    for (let from = 0; from < neighbours.length; from += scoredAtOnce) {
      const ids = neighbours.slice(from, from + scoredAtOnce).map(({ id }) => id);
      best = [...best, ...input.score(ids)].toSorted(byScore).slice(0, limit);
      const lastWanted = best[limit - 1];
      const following = neighbours[from + scoredAtOnce];
      if (lastWanted && following && lastWanted.score > input.highest(following) + scoreDoubt) return best;
    }
    if (neighbours.length < asked) return best;
  }
  return undefined;
}
