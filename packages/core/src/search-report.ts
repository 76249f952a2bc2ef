import type { EmbeddingChoice } from "./embedding.ts";
import type {
  ManagerSearchOptions,
  MemoryCapabilities,
  MemorySearchResult,
  SearchReport,
  SearchState,
} from "./manager.ts";
import type { KeptResults } from "./search-results.ts";
import type { MemoryProviderStatus } from "./status.ts";

const states: readonly SearchState[] = ["ok", "stale", "degraded", "unavailable"];

/** What a manager is known to do where it has said nothing of a search itself. */
export interface ReportFacts {
  backend: string;
  capabilities: MemoryCapabilities;
  status: MemoryProviderStatus;
}

/** The report of a search that looked at nothing, or whose manager gave none. */
export function reportOf({ backend, capabilities, status }: ReportFacts): SearchReport {
  const report: SearchReport = {
    backend,
    mode: status.custom?.searchMode ?? modeOf(capabilities, status),
    state: "ok",
    legs: {},
    dropped: { minScore: 0, source: 0, limit: 0 },
  };
  if (status.fallback)
    return { ...report, state: "degraded", reason: status.fallback.reason, fallback: status.fallback };
  if (status.lastSyncError !== undefined)
    return { ...report, state: "stale", reason: `the last sync failed: ${status.lastSyncError}` };
  if (status.dirty === true) return { ...report, state: "stale", reason: "files have changed since the last sync" };
  return report;
}

function modeOf(capabilities: MemoryCapabilities, status: MemoryProviderStatus): SearchReport["mode"] {
  if (!capabilities.keyword) return "vector";
  return capabilities.vector && status.provider !== "none" ? "hybrid" : "keyword";
}

/** The report of a search that failed. */
export function failureReport(facts: ReportFacts, reason: string): SearchReport {
  return { ...reportOf(facts), state: "unavailable", reason };
}

export interface Finish {
  /** What the manager said; anything but a report counts as nothing. */
  given: unknown;
  facts: () => ReportFacts;
  found: readonly MemorySearchResult[];
  kept: KeptResults;
  options: Pick<ManagerSearchOptions, "minScore" | "sources">;
  embeddings: EmbeddingChoice | undefined;
  notes: readonly string[];
}

/** The one report of a search: what the manager said, with what the guard dropped and knows besides. */
export function finishReport({ given, facts, found, kept, options, embeddings, notes }: Finish): SearchReport {
  const report = reportFor(given, facts, found, kept);
  const dropped = {
    minScore: count(report.dropped?.minScore) + kept.dropped.minScore,
    source: count(report.dropped?.source) + kept.dropped.source,
    limit: count(report.dropped?.limit) + kept.dropped.limit,
    ...(kept.dropped.audience > 0 ? { audience: kept.dropped.audience } : {}),
  };
  const degraded = embeddings?.degraded === true && (report.state === "ok" || report.state === "stale");
  const reasons = [report.reason, degraded ? embeddings.reason : undefined, ...notes].filter(
    (reason) => reason !== undefined,
  );
  if (kept.results.length === 0 && report.reason === undefined) reasons.push(whyNothing(dropped, options));
  return {
    ...report,
    state: degraded ? "degraded" : report.state,
    reason: reasons.length > 0 ? [...new Set(reasons)].join("; ") : undefined,
    fallback: report.fallback ?? embeddings?.fallback,
    legs: kept.results.length === found.length ? (report.legs ?? {}) : recount(report.legs ?? {}, kept.results),
    dropped,
  };
}

/**
 * What the manager said, or what is known without a word from it. Where it has let private notes into a shared session,
 * its words and figures are about them too: they would tell what the notes hold, so what is left speaks for itself.
 */
function reportFor(
  given: unknown,
  facts: Finish["facts"],
  found: readonly MemorySearchResult[],
  kept: KeptResults,
): SearchReport {
  const report = isReport(given) ? given : { ...reportOf(facts()), legs: legsOf(found) };
  if (kept.dropped.audience === 0) return report;
  return {
    ...report,
    reason: report.state === "ok" ? undefined : report.reason,
    legs: legsOf(kept.results),
    dropped: { minScore: 0, source: 0, limit: 0 },
    confidence: undefined,
  };
}

function isReport(value: unknown): value is SearchReport {
  return typeof value === "object" && value !== null && states.includes((value as SearchReport).state);
}

function count(value: number | undefined): number {
  return value ?? 0;
}

/** Without a word from the manager, what it found is all that is known of its legs. */
function legsOf(found: readonly MemorySearchResult[]): SearchReport["legs"] {
  const [keyword, vector] = [byWords(found), byMeaning(found)];
  return {
    keyword: keyword > 0 ? { candidates: keyword, kept: keyword } : undefined,
    vector: vector > 0 ? { candidates: vector, kept: vector } : undefined,
  };
}

/** The legs with the results that are still there after the guard's own cut. */
function recount(legs: SearchReport["legs"], kept: readonly MemorySearchResult[]): SearchReport["legs"] {
  return {
    keyword: legs.keyword && { ...legs.keyword, kept: byWords(kept) },
    vector: legs.vector && { ...legs.vector, kept: byMeaning(kept) },
  };
}

function byWords(results: readonly MemorySearchResult[]): number {
  return results.filter((result) => (result.textScore ?? 0) > 0).length;
}

function byMeaning(results: readonly MemorySearchResult[]): number {
  return results.filter((result) => result.vectorScore !== undefined).length;
}

function whyNothing(dropped: SearchReport["dropped"], { minScore, sources }: Finish["options"]): string {
  if (dropped.minScore > 0) return `${dropped.minScore} found, all with a score under ${minScore}`;
  if (dropped.source > 0) return `${dropped.source} found, none in ${sources.join(" or ")}`;
  return "nothing in memory matches the query";
}
