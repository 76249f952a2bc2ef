import { type EmbeddingChoice, type SearchCondition, type SearchReport, withConditions } from "@memslot/core";
import type { ChunkIndex } from "../chunk-index.ts";
import type { Embedder } from "../embedding/embedder.ts";
import type { SearchedSource, SearchOutcome } from "./search-outcome.ts";

/**
 * What a session in which others read along is told of the state of the index. It is told that an answer may lack
 * something, and never what: which files have changed or failed, how many there are and how far they are is about
 * private notes too. `unread` is about what may be seen, and about nothing else.
 */
export function freshnessForAll(
  report: SearchReport,
  unfresh: SearchCondition | undefined,
  unread: SearchCondition | undefined,
  embeddings: Pick<EmbeddingChoice, "degraded" | "reason">,
): SearchReport {
  const conditions: SearchCondition[] = [];
  if (unread !== undefined) conditions.push(unread);
  if (unfresh !== undefined) conditions.push(conditionForAll(unfresh));
  if (embeddings.degraded) conditions.push({ state: "degraded", reason: embeddings.reason });
  if (conditions.length === 0) return report;
  // Why nothing was found would be a claim about notes that were not all looked at.
  const claim = report.state === "ok" && (unread ?? unfresh) !== undefined;
  return withConditions(claim ? { ...report, reason: undefined } : report, conditions);
}

/** The same without what it tells of files: only that something may be missing. */
export function conditionForAll({ state }: SearchCondition): SearchCondition {
  return { state, reason: "what was saved last may be missing" };
}

/** Says how many of the chunks that may be seen have no vector yet; of others, nothing. */
export async function withMissingWithin(
  outcome: SearchOutcome,
  { store, vectors, places }: { store: ChunkIndex; vectors: Embedder; places: readonly SearchedSource[] },
): Promise<SearchOutcome> {
  const space = await vectors.primary.knownSpace();
  if (outcome.report.state === "degraded" || space === undefined) return outcome;
  const counts = await Promise.all(
    places.map(({ source, scope }) => store.spaceStats(space, { sources: [source], scope })),
  );
  const pending = counts.reduce((sum, count) => sum + count.pending, 0);
  if (pending === 0) return outcome;
  const reason = `keywords answered for chunks without a vector: ${pending} are left`;
  return { ...outcome, report: withConditions(outcome.report, [{ state: "degraded", reason, count: pending }]) };
}
