import type { MemorySearchResult } from "../contract/manager.ts";
import type { SearchLeg, SearchReport } from "../contract/report.ts";
import type { SyncReport } from "../contract/status.ts";
import type { SearchMessage, SyncMessage } from "../debug/messages.ts";
import type { CheckedSearch } from "./call-arguments.ts";

/** What is told of a search to whoever looks inside: counts and settings, and none of the words. */
export function searchFacts({ options }: CheckedSearch): Partial<SearchMessage> {
  const { sources, maxResults, audience } = options;
  return { sources: [...sources], maxResults, audience };
}

/** The report's own words are left out: they name notes, and quote what a provider has answered. */
export function answerFacts(results: readonly MemorySearchResult[], report: SearchReport): Partial<SearchMessage> {
  const { state, legs } = report;
  return {
    results: results.length,
    state,
    ...withCount("keywordCandidates", legs.keyword),
    ...withCount("vectorCandidates", legs.vector),
  };
}

export function syncCounts(report: SyncReport | undefined): Partial<SyncMessage> {
  if (report === undefined) return {};
  const { added, changed, removed, unchanged, failed, pendingVectors } = report;
  const pending = pendingVectors?.chunks;
  return {
    added,
    changed,
    removed,
    unchanged,
    failed: failed.length,
    ...(pending === undefined ? {} : { pendingVectors: pending }),
  };
}

/** A leg is as the plugin says it: what is no number is not told. */
function withCount<Name extends string>(name: Name, leg: SearchLeg | undefined): { [key in Name]?: number } {
  const count: unknown = leg?.candidates;
  return (typeof count === "number" ? { [name]: count } : {}) as { [key in Name]?: number };
}
