import { conditionsOf, withConditions } from "../contract/conditions.ts";
import { indexConditions } from "../contract/health.ts";
import type { EmbeddingChoice } from "../contract/embedding.ts";
import type { ManagerSearchOptions, MemorySearchResult, SessionAudience } from "../contract/search.ts";
import type { MemoryCapabilities } from "../contract/manager.ts";
import type { FoundCounts, SearchCondition, SearchReport, SearchState } from "../contract/report.ts";
import type { RerankChoice } from "../contract/reranker.ts";
import type { MemoryFallback, MemoryProviderStatus } from "../contract/status.ts";
import type { KeptResults } from "./search-results.ts";

const states: readonly SearchState[] = ["ok", "stale", "degraded", "unavailable"];

/** What a manager is known to do where it has said nothing of a search itself. */
export interface ReportFacts {
  backend: string;
  capabilities: MemoryCapabilities;
  status: MemoryProviderStatus;
}

/** The report of a search that looked at nothing, or whose manager gave none. */
export function reportOf(
  { backend, capabilities, status }: ReportFacts,
  audience: SessionAudience = "private",
): SearchReport {
  const report: SearchReport = {
    backend,
    mode: status.custom?.searchMode ?? modeOf(capabilities, status),
    state: "ok",
    legs: {},
    dropped: { minScore: 0, source: 0, limit: 0 },
  };
  const fallback = audience === "shared" ? fallbackForAll(status.fallback) : status.fallback;
  const told = withConditions(report, indexConditions({ ...status, fallback }, audience));
  return { ...told, ...(fallback && { fallback }) };
}

/** What others who read along are told of a spare: what the other one has said of its failure may name a note. */
export function fallbackForAll(fallback: MemoryFallback | undefined): MemoryFallback | undefined {
  return fallback && { ...fallback, reason: unavailableReason(fallback.from) };
}

export function unavailableReason(name: string): string {
  return `"${name}" is unavailable`;
}

function modeOf(capabilities: MemoryCapabilities, status: MemoryProviderStatus): SearchReport["mode"] {
  if (!capabilities.keyword) return "vector";
  return capabilities.vector && status.provider !== "none" ? "hybrid" : "keyword";
}

/** The report of a search that failed. */
export function failureReport(facts: ReportFacts, reason: string, audience: SessionAudience): SearchReport {
  const told = audience === "shared" ? "memory could not be searched" : reason;
  return { ...reportOf(facts, audience), state: "unavailable", reason: told };
}

export interface Finish {
  /** What the manager said; anything but a report counts as nothing. */
  given: unknown;
  facts: () => ReportFacts;
  found: readonly MemorySearchResult[];
  kept: KeptResults;
  options: Pick<ManagerSearchOptions, "minScore" | "sources" | "audience" | "since" | "until" | "order">;
  embeddings: EmbeddingChoice | undefined;
  rerank: RerankChoice | undefined;
  notes: readonly string[];
}

/** The one report of a search: what the manager said, with what the guard dropped and knows besides. */
export function finishReport({ given, facts, found, kept, options, embeddings, rerank, notes }: Finish): SearchReport {
  const told = reportFor(given, facts, found, { kept, audience: options.audience });
  const degraded = embeddings?.degraded === true && told.state !== "unavailable";
  const conditions: SearchCondition[] = degraded ? [{ state: "degraded", reason: embeddings.reason }] : [];
  if (rerank?.degraded === true && told.state !== "unavailable")
    conditions.push({ state: "degraded", reason: rerank.reason });
  const unfiltered = told.state === "unavailable" ? undefined : unfilteredBecause(told, options);
  if (unfiltered !== undefined) conditions.push({ state: "degraded", reason: unfiltered });
  const report = withRerank(withConditions(told, conditions), rerank, kept.results.length);
  const { audience, outside, duplicate, ...own } = kept.dropped;
  const both = (name: keyof typeof own): number => (report.dropped?.[name] ?? 0) + own[name];
  const rare = Object.entries({ tokens: both("tokens"), audience, outside, duplicate }).filter(
    ([, count]) => count > 0,
  );
  const dropped: SearchReport["dropped"] = {
    minScore: both("minScore"),
    source: both("source"),
    limit: both("limit"),
    ...Object.fromEntries(rare),
  };
  const fallback = report.fallback ?? embeddings?.fallback;
  const reasons = [report.reason, ...notes].filter((reason) => reason !== undefined);
  if (kept.results.length === 0 && (report.reason === undefined || kept.dropped.outside > 0))
    reasons.push(whyNothing(dropped, options));
  return {
    ...report,
    reason: reasons.length > 0 ? [...new Set(reasons)].join("; ") : undefined,
    fallback: options.audience === "shared" ? fallbackForAll(fallback) : fallback,
    legs: kept.results.length === found.length ? (report.legs ?? {}) : recount(report.legs ?? {}, kept.results),
    dropped,
    found: foundIn(report.found, kept),
    conditions: conditionsOf(report),
  };
}

/** What the manager has counted, where that is counts, and of nothing that the guard has dropped. */
function foundIn(found: Partial<FoundCounts> | undefined, { results, dropped }: KeptResults): FoundCounts | undefined {
  const { passages, notes, more } = found ?? {};
  if (typeof more !== "boolean" || !isCount(passages) || !isCount(notes) || passages < results.length) return undefined;
  // A place that came twice is counted, and shown once: it is one of those that had no room.
  const isOfOthers = dropped.audience + dropped.outside + dropped.source + dropped.minScore > 0;
  return isOfOthers ? undefined : { passages, notes, more };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/**
 * What the manager said, or what is known without a word from it. Where it has let private notes into a shared session,
 * its words and figures are about them too: they would tell what the notes hold, so what is left speaks for itself.
 */
function reportFor(
  given: unknown,
  facts: Finish["facts"],
  found: readonly MemorySearchResult[],
  { kept, audience }: { kept: KeptResults; audience: SessionAudience },
): SearchReport {
  const report = isReport(given) ? given : { ...reportOf(facts(), audience), legs: legsOf(found) };
  if (kept.dropped.audience === 0) return report;
  return {
    ...report,
    reason: report.state === "ok" ? undefined : report.reason,
    legs: legsOf(kept.results),
    sources: undefined,
    dropped: { minScore: 0, source: 0, limit: 0 },
    confidence: undefined,
    match: undefined,
    rerank: report.rerank && { ...report.rerank, order: undefined },
    filters: report.filters && { ...report.filters, undated: undefined },
  };
}

/** A manager that says nothing of a reranker did not use the one that is there. */
function withRerank(report: SearchReport, rerank: RerankChoice | undefined, results: number): SearchReport {
  if (rerank?.reranker === undefined || report.rerank !== undefined || report.state === "unavailable" || results < 2)
    return report;
  const { id, model } = rerank.reranker;
  const reason = `"${report.backend}" ranks by itself and uses no reranker`;
  return { ...report, rerank: { state: "unused", reason, id, model, candidates: 0, cached: false, ms: 0 } };
}

/** A manager that does not say what it has filtered has not filtered: then the answer is another one than was asked for. */
function unfilteredBecause(report: SearchReport, options: Finish["options"]): string | undefined {
  if (report.filters !== undefined) return undefined;
  const asked = (["since", "until"] as const).filter((name) => options[name] !== undefined).map(String);
  if ((options.order ?? "relevance") !== "relevance") asked.push("order");
  return asked.length === 0 ? undefined : `memory plugin "${report.backend}" does not know ${asked.join(" and ")}`;
}

function isReport(value: unknown): value is SearchReport {
  return typeof value === "object" && value !== null && states.includes((value as SearchReport).state);
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
  if (dropped.outside !== undefined) return `${dropped.outside} found, all outside the workspace and extraPaths`;
  if (dropped.source > 0) return `${dropped.source} found, none in ${sources.join(" or ")}`;
  return "nothing in memory matches the query";
}
