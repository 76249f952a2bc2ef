import type { SearchCondition } from "@memslot/core";
import type { ChunkIndex } from "../chunk-index.ts";
import type { Embedder } from "../embedding/embedder.ts";
import { type SearchedSource, type SearchOutcome, withMore } from "./search-outcome.ts";

/**
 * What a session in which others read along is told of the state of the index: that an answer may lack something, and
 * never what. Which files have changed or failed, how many there are and how far they are is about private notes too.
 */
export function conditionForAll({ state }: SearchCondition): SearchCondition {
  return { state, reason: "what was saved last may be missing" };
}

/** Says how many of the chunks that may be seen have no vector yet; of others, nothing. */
export async function withMissingWithin(
  outcome: SearchOutcome,
  { store, vectors, places }: { store: ChunkIndex; vectors: Embedder; places: readonly SearchedSource[] },
): Promise<SearchOutcome> {
  const space = await vectors.primary.knownSpace();
  if ((outcome.conditions ?? []).length > 0 || space === undefined) return outcome;
  const counts = await Promise.all(
    places.map(({ source, scope }) => store.spaceStats(space, { sources: [source], scope })),
  );
  const pending = counts.reduce((sum, count) => sum + count.pending, 0);
  if (pending === 0) return outcome;
  const reason = `keywords answered for chunks without a vector: ${pending} are left`;
  return withMore(outcome, [{ state: "degraded", reason, count: pending }]);
}
