import type { CheckedSearch } from "./arguments.ts";
import type { GuardedClient, ReportFacts } from "./guarded-client.ts";
import { isForEveryone, isInSharedPlace, notePath, type NotePlaces } from "./audience.ts";
import { indexConditions, reasonsOf, sentenceIn, withConditions, withReasons } from "../contract/health.ts";
import { joined, sentence, type Sentence } from "../contract/sentences.ts";
import { sentenceOf } from "../contract/errors.ts";
import type { MemoryCapabilities, MemorySearchManager } from "../contract/manager.ts";
import type { FoundCounts, SearchOrder, SearchReport, SearchState } from "../contract/search-report.ts";
import type { RerankChoice } from "../contract/reranker.ts";
import type { ManagerSearchOptions, MemorySearchResult, SearchAnswer, SessionAudience } from "../contract/search.ts";
import type { MemoryFallback, MemoryProviderStatus } from "../contract/status.ts";
import { resultTokens } from "../text/result-tokens.ts";

const states: readonly SearchState[] = ["ok", "stale", "degraded", "unavailable"];

/** The report of a search that was not run, or whose manager reported nothing. */
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
  const reported = withConditions(report, indexConditions({ ...status, fallback }, audience));
  return { ...reported, ...(fallback && { fallback }) };
}

/** The fallback for a shared audience, without the error message, which may name a note. */
export function fallbackForAll(fallback: MemoryFallback | undefined): MemoryFallback | undefined {
  return fallback && { ...fallback, ...sentence("backend.unavailable", { name: fallback.from }) };
}

function modeOf(capabilities: MemoryCapabilities, status: MemoryProviderStatus): SearchReport["mode"] {
  if (!capabilities.keyword) return "vector";
  return capabilities.vector && status.provider !== "none" ? "hybrid" : "keyword";
}

export function failureReport(facts: ReportFacts, error: unknown, audience: SessionAudience): SearchReport {
  const shown = audience === "shared" ? sentence("search.failed") : sentenceOf(error);
  return withReasons({ ...reportOf(facts, audience), state: "unavailable" }, [shown]);
}

export interface ManagerAnswer {
  results: MemorySearchResult[];
  report: SearchReport | undefined;
}

/** Searches and keeps the report back until the search has succeeded. */
export async function askManager(
  manager: MemorySearchManager,
  query: string,
  options: Omit<ManagerSearchOptions, "onDebug">,
): Promise<ManagerAnswer> {
  let report: SearchReport | undefined;
  const results = await manager.search(query, { ...options, onDebug: (given) => void (report = given) });
  return { results, report };
}

/** Filters the results and adds the findings of the guard to the manager's report. */
export function finishAnswer(
  answer: ManagerAnswer,
  client: GuardedClient,
  { options, notes }: CheckedSearch,
): SearchAnswer {
  const { embeddings, rerank } = client.options;
  const found = answer.results;
  const kept = keepResults(found, answer.report?.filters?.order ?? "relevance", client, options);
  const reported = reportFor(answer, client, { kept, audience: options.audience });
  const degraded = [
    embeddings?.degraded === true && sentenceIn(embeddings),
    rerank?.degraded === true && sentenceIn(rerank),
    unfilteredBecause(reported, options),
  ].flatMap((why) => (typeof why === "object" ? [{ state: "degraded" as const, ...why }] : []));
  const state = withConditions(reported, reported.state === "unavailable" ? [] : degraded);
  const report = withRerank(state, rerank, kept.results.length);
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
  const reasons = [...reasonsOf(report), ...notes];
  if (kept.results.length === 0 && (report.reason === undefined || outside > 0))
    reasons.push(whyNothing(dropped, options));
  const fallback = report.fallback ?? embeddings?.fallback;
  return {
    results: kept.results,
    report: {
      ...withReasons(report, reasons),
      fallback: options.audience === "shared" ? fallbackForAll(fallback) : fallback,
      legs: kept.results.length === found.length ? (report.legs ?? {}) : legsOf(kept.results, report.legs ?? {}),
      dropped,
      found: foundIn(report.found, kept),
    },
  };
}

function foundIn(found: Partial<FoundCounts> | undefined, { results, dropped }: KeptResults): FoundCounts | undefined {
  const { passages, notes, more } = found ?? {};
  if (typeof more !== "boolean" || !isCount(passages) || !isCount(notes) || passages < results.length) return undefined;
  // A duplicate counts as one that did not fit.
  const isOfOthers = dropped.audience + dropped.outside + dropped.source + dropped.minScore > 0;
  return isOfOthers ? undefined : { passages, notes, more };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** The manager's report or a default; dropped if it covers private notes for a shared audience. */
function reportFor(
  { results: found, report: given }: ManagerAnswer,
  client: GuardedClient,
  { kept, audience }: { kept: KeptResults; audience: SessionAudience },
): SearchReport {
  const report = isReport(given) ? given : { ...reportOf(client.facts(), audience), legs: legsOf(found) };
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

/** A manager that reports no reranker did not use the configured one. */
function withRerank(report: SearchReport, rerank: RerankChoice | undefined, results: number): SearchReport {
  if (rerank?.reranker === undefined || report.rerank !== undefined || report.state === "unavailable" || results < 2)
    return report;
  const { id, model } = rerank.reranker;
  const reason = `"${report.backend}" ranks by itself and uses no reranker`;
  return { ...report, rerank: { state: "unused", reason, id, model, candidates: 0, cached: false, ms: 0 } };
}

/** If a manager does not report its filters, it did not filter: the answer differs from the query. */
function unfilteredBecause(report: SearchReport, options: CheckedSearch["options"]): Sentence | undefined {
  if (report.filters !== undefined) return undefined;
  const asked = (["since", "until"] as const).filter((name) => options[name] !== undefined).map(String);
  if ((options.order ?? "relevance") !== "relevance") asked.push("order");
  if (asked.length === 0) return undefined;
  return sentence("query.unfiltered", { plugin: report.backend, options: asked.join(" and ") });
}

function isReport(value: unknown): value is SearchReport {
  return typeof value === "object" && value !== null && states.includes((value as SearchReport).state);
}

const foundBy = {
  keyword: ({ textScore = 0 }: MemorySearchResult): boolean => textScore > 0,
  vector: ({ vectorScore }: MemorySearchResult): boolean => vectorScore !== undefined,
};

/** The retrievers' counts for these results. Without reported counts they are derived from the results. */
function legsOf(found: readonly MemorySearchResult[], known?: SearchReport["legs"]): SearchReport["legs"] {
  const legOf = (name: keyof typeof foundBy): SearchReport["legs"]["keyword"] => {
    const kept = found.filter(foundBy[name]).length;
    if (known) return known[name] && { ...known[name], kept };
    return kept > 0 ? { candidates: kept, kept } : undefined;
  };
  return { keyword: legOf("keyword"), vector: legOf("vector") };
}

function whyNothing(dropped: SearchReport["dropped"], { minScore, sources }: CheckedSearch["options"]): Sentence {
  if (dropped.minScore > 0) return sentence("empty.scores", { count: dropped.minScore, minScore });
  if (dropped.outside !== undefined) return sentence("empty.outside", { count: dropped.outside });
  if (dropped.source > 0)
    return sentence("empty.sources", { count: dropped.source, sources: joined("list.or", sources) });
  return sentence("empty.ofQuery");
}

interface KeptResults {
  results: MemorySearchResult[];
  dropped: Record<"minScore" | "source" | "limit" | "tokens" | "audience" | "outside" | "duplicate", number>;
}

/** Filters, sorts, deduplicates and cuts results. Invalid results are a plugin error. */
function keepResults(
  results: readonly MemorySearchResult[],
  order: SearchOrder,
  client: GuardedClient,
  options: CheckedSearch["options"],
): KeptResults {
  const places = client.places();
  const inside = results.flatMap((result) => placed(result, places));
  const allowed =
    options.audience === "private"
      ? inside
      : inside.filter(
          ({ path, source }) =>
            isForEveryone(path, places.workspaceDir) && (source !== "memory" || isInSharedPlace(path, places)),
        );
  const fromSources = allowed.filter((result) => options.sources.includes(result.source));
  const scored = fromSources.filter(
    (result) => result.score >= options.minScore || !foundByVectorOnly(result, client.manager.capabilities),
  );
  const sorted = order === "relevance" ? scored.toSorted(bestFirst) : scored;
  const unique = [...Map.groupBy(sorted, placeKey).values()].flatMap((same) => same.slice(0, 1));
  const wanted = unique.slice(0, options.maxResults);
  const kept = withinBudget(wanted, options.maxTokens);
  return {
    results: options.explain === true ? kept : kept.map(withoutParts),
    dropped: {
      outside: results.length - inside.length,
      duplicate: sorted.length - unique.length,
      audience: inside.length - allowed.length,
      source: allowed.length - fromSources.length,
      minScore: fromSources.length - scored.length,
      limit: unique.length - wanted.length,
      tokens: wanted.length - kept.length,
    },
  };
}

function withoutParts(result: MemorySearchResult): MemorySearchResult {
  const { parts: _, sections: _sections, ...others } = result;
  return others;
}

function placed(result: MemorySearchResult, places: NotePlaces): MemorySearchResult[] {
  const path = result.source === "memory" ? notePath(result.path, places) : result.path;
  return path === undefined ? [] : [withShortSnippet(path === result.path ? result : { ...result, path })];
}

function placeKey({ source, path, startLine, endLine }: MemorySearchResult): string {
  return JSON.stringify([source, path, startLine, endLine]);
}

/** The first results within the token budget, at least one. */
function withinBudget(results: readonly MemorySearchResult[], maxTokens: number): MemorySearchResult[] {
  let used = 0;
  const end = results.findIndex((result, index) => {
    used += resultTokens(result);
    return index > 0 && used > maxTokens;
  });
  return results.slice(0, end < 0 ? results.length : end);
}

/** A manager without a vector search may give a score alone; its results are found by words. */
function foundByVectorOnly(result: MemorySearchResult, capabilities: MemoryCapabilities): boolean {
  if ((result.textScore ?? 0) > 0) return false;
  return capabilities.vector || result.vectorScore !== undefined;
}

function bestFirst(a: MemorySearchResult, b: MemorySearchResult): number {
  if (a.score !== b.score) return b.score - a.score;
  // By code unit, not by locale: the order is the same on every machine.
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.startLine - b.startLine;
}

const longestSnippet = 700;

/** Shortens a snippet to whole lines if possible, and moves the end of the result with it. */
function withShortSnippet(result: MemorySearchResult): MemorySearchResult {
  const { snippet, startLine, endLine } = result;
  if (snippet.length <= longestSnippet) return result;
  const end = snippet.lastIndexOf("\n", longestSnippet);
  const kept = end > 0 ? snippet.slice(0, end) : firstCharacters(snippet);
  const isWhole = snippet.split("\n").length === endLine - startLine + 1;
  return { ...result, snippet: kept, endLine: isWhole ? startLine + kept.split("\n").length - 1 : endLine };
}

function firstCharacters(text: string): string {
  const cut = text.slice(0, longestSnippet);
  return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut;
}
