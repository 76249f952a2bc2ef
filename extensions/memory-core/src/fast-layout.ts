import type { StoreHealth, VectorQuery } from "@memslot/indexing";
import type Database from "better-sqlite3";
import { byScore, type ScoredId } from "./chunk-rows.ts";
import type { Similarity } from "./cosine.ts";
import type { EmbeddedChunks } from "./embedded-chunks.ts";
import { highestCosine, toInt8 } from "./int8.ts";
import { type Meta, metaKeys } from "./meta.ts";
import { loadSqliteVec } from "./sqlite-vec.ts";
import { isBusy, isFileFailure } from "./store-errors.ts";
import { reasonOf } from "./store-failure.ts";
import type { Transactions } from "./transactions.ts";
import { createVectorIndex, maxNeighbours, type Neighbour, type VectorIndex } from "./vector-index.ts";

/** Neighbours to ask for at first, beside twice the limit. A long list costs hardly more than a short one. */
const spareNeighbours = 1000;
/** Neighbours that are scored before it is asked again whether they are enough. */
const scoredAtOnce = 64;
/** What counting in double precision may lose. */
const scoreDoubt = 1e-9;

/** The fast layout of one space, where sqlite-vec works. Without it everything goes on, by comparing all vectors. */
export interface FastLayout {
  /** Loads sqlite-vec at the first need of it. False: vectors are compared one by one. */
  isLoaded(): boolean;
  /** The space that is laid out, whoever did it; undefined where the table cannot be relied on. */
  held(): number | undefined;
  /** Makes the table hold this space, unless it does already. Called outside of transactions. */
  settle(space: { id: number; dimensions: number }, chunks: EmbeddedChunks): void;
  /** Keeps the table in step, inside a transaction that changes chunks or vectors, or says that it is not. */
  follow(work: (index: VectorIndex, spaceId: number) => void): void;
  /**
   * The best by way of the table; undefined where it cannot tell. Called inside a transaction. Where the table still has
   * chunks whose vectors another process has taken out of the cache, these are passed over.
   */
  rank(query: VectorQuery, spaceId: number, similarity: Similarity, chunks: EmbeddedChunks): ScoredId[] | undefined;
  health(): StoreHealth["vector"];
}

export function createFastLayout(input: {
  db: Database.Database;
  meta: Meta;
  transactions: Transactions;
  settings: { enabled: boolean; extensionPath?: string | undefined };
  notice: (line: string) => void;
}): FastLayout {
  const { db, meta, transactions, settings } = input;
  let health: StoreHealth["vector"] = { ...settings };
  let index: VectorIndex | undefined;

  function loaded(): VectorIndex | undefined {
    if (!settings.enabled || health.available !== undefined) return index;
    const { ok, path, ...outcome } = loadSqliteVec(db, settings.extensionPath);
    health = { ...health, available: ok, ...(path === undefined ? {} : { extensionPath: path }) };
    if ("error" in outcome) giveUp(outcome.error);
    else index = createVectorIndex(db, meta);
    return index;
  }

  function giveUp(error: string): void {
    health = { ...health, available: false, loadError: error };
    index = undefined;
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

  function held(): number | undefined {
    const id = meta.get(metaKeys.vectorSpace);
    return id === undefined ? undefined : Number(id);
  }

  return {
    isLoaded: () => loaded() !== undefined,
    held,
    settle(space, chunks) {
      const table = loaded();
      if (!table) return;
      const settled = transactions.read(() => held() === space.id && table.fits(chunks.countEmbedded(space.id)));
      if (settled) return;
      try {
        attempt(() => transactions.write(() => table.rebuild(space)));
      } catch (error) {
        // Another process writes for long. All vectors are compared until the next time.
        if (!isBusy(error)) throw error;
      }
    },
    follow(work) {
      const spaceId = held();
      if (spaceId === undefined) return;
      const table = loaded();
      if (!table || !attempt(() => work(table, spaceId))) meta.delete(metaKeys.vectorSpace);
    },
    rank(query, spaceId, similarity, chunks) {
      const table = loaded();
      if (!table || held() !== spaceId) return undefined;
      let ranked: ScoredId[] | undefined;
      attempt(() => (ranked = rankSources(table, query, spaceId, similarity, chunks)));
      return ranked;
    },
    health: () => health,
  };
}

function rankSources(
  table: VectorIndex,
  query: VectorQuery,
  spaceId: number,
  similarity: Similarity,
  chunks: EmbeddedChunks,
): ScoredId[] | undefined {
  const rounded = toInt8(query.vector);
  const angles = rounded.angle + table.angle();
  const ranked: ScoredId[] = [];
  for (const source of query.sources) {
    const best = rankSource({
      limit: query.limit,
      nearest: (limit) => table.nearest(rounded.bytes, source, limit),
      score: (ids) => chunks.compare(spaceId, similarity, ids),
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
