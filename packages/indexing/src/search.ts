import {
  type ManagerSearchOptions,
  type MemorySearchResult,
  type MemorySearchSettings,
  type MemorySource,
  messageOf,
  type SearchReport,
} from "@memslot/core";
import type { ChunkStore, KeywordAnswer, PathScope, QueryTerm, VectorAnswer } from "./chunk-store.ts";
import type { EmbeddedQuery, Embedder } from "./embedding/embedder.ts";
import { mergeOverlaps } from "./merge-overlaps.ts";
import { redactSecrets } from "./redact-secrets.ts";
import { dateHints } from "./query-dates.ts";
import { type Candidate, type FusionWeights, rank, type Ranking } from "./rank.ts";
import { withRoomForSources } from "./room-for-sources.ts";
import { isClosed, type SourceScope } from "./session-scope.ts";
import { snippetOf } from "./snippet.ts";
import { queryTerms, type SearchTerm } from "./words.ts";

/** Candidates that each leg gives at least, so that there is something to rank, and at most. */
const minCandidates = 100;
const maxCandidates = 200;
/** A word that the index does not know is tried as the beginning of one, from this length on. */
const minPrefixLength = 3;

/** The results of one search with what its report says. The caller adds freshness to the state. */
export interface SearchOutcome {
  results: MemorySearchResult[];
  report: SearchReport;
}

/**
 * Asks the keyword and the vector leg in parallel, makes one list of both, and cuts snippets. Either leg may be missing
 * or fail: the other answers, and the report says so. If none is left to answer the error of the first is thrown.
 */
export async function searchChunks(input: {
  store: ChunkStore;
  settings: MemorySearchSettings;
  vectors: Embedder | undefined;
  backend: string;
  query: string;
  options: ManagerSearchOptions;
  /** What of each source may be found. */
  scope: SourceScope;
  now: Date;
}): Promise<SearchOutcome> {
  const { store, settings, options, query } = input;
  const places = placesOf(options, input.scope);
  const started = performance.now();
  const hybrid = settings.query.hybrid;
  const limit = Math.min(maxCandidates, Math.max(minCandidates, options.maxResults * hybrid.candidateMultiplier));
  const vectors = hybrid.enabled ? input.vectors : undefined;
  const useKeywords = store.health().fts.available;

  const [keyword, vector] = await Promise.allSettled([
    // Redacted as the index is: a key that is pasted into a question finds the line that holds it.
    useKeywords ? keywordLeg(store, redactSecrets(query), places, limit) : undefined,
    vectors && places.length > 0 ? vectorLeg(store, vectors, query, places, limit, options.signal) : undefined,
  ]);
  options.signal.throwIfAborted();
  const answered = [keyword, vector].some((leg) => leg.status === "fulfilled" && leg.value !== undefined);
  const failed = [keyword, vector].find((leg) => leg.status === "rejected");
  if (!answered && failed) throw failed.reason;
  const legsMs = performance.now() - started;

  const keywordAnswer = keyword.status === "fulfilled" ? keyword.value : undefined;
  const vectorAnswer = vector.status === "fulfilled" ? vector.value : undefined;
  const ranking = rank({
    terms: keywordAnswer?.terms ?? [],
    keyword: keywordAnswer?.answer,
    vector: vectorAnswer,
    weights: fusionWeights(settings, keywordAnswer !== undefined),
    hints: dateHints(query, input.now),
  });
  const { kept, belowScore, overLimit } = choose(ranking, options);
  const results = kept.map((candidate) => resultOf(candidate, ranking));
  const degraded = degradation(keyword, vector, useKeywords, store) ?? vectorAnswer?.note;
  const report: SearchReport = {
    backend: input.backend,
    mode: vectorAnswer && keywordAnswer ? "hybrid" : vectorAnswer ? "vector" : "keyword",
    state: degraded ? "degraded" : "ok",
    reason: degraded ?? (results.length === 0 ? emptyReason(keywordAnswer, belowScore, places) : undefined),
    legs: {
      keyword: keywordAnswer && {
        candidates: keywordAnswer.answer.rows.length,
        kept: kept.filter((candidate) => candidate.textScore !== undefined).length,
      },
      vector: vectorAnswer && {
        candidates: vectorAnswer.rows.length,
        kept: kept.filter((candidate) => candidate.vectorScore !== undefined).length,
      },
    },
    sources: sourceCounts(places, ranking, kept),
    dropped: { minScore: belowScore, source: 0, limit: overLimit },
    confidence: ranking.confidence,
    fallback: vectorAnswer?.fallback,
    timingsMs: { legs: round(legsMs), rank: round(performance.now() - started - legsMs) },
  };
  return { results, report };
}

/** A source that is searched by itself, so that none crowds another out of the candidates. */
interface Place {
  source: MemorySource;
  scope: PathScope | undefined;
}

function placesOf({ sources }: ManagerSearchOptions, scope: SourceScope): Place[] {
  return sources.map((source) => ({ source, scope: scope(source) })).filter((place) => !isClosed(place.scope));
}

async function keywordLeg(
  store: ChunkStore,
  query: string,
  places: readonly Place[],
  limit: number,
): Promise<{ answer: KeywordAnswer; terms: SearchTerm[] }> {
  const terms = queryTerms(query);
  const ask = async (asked: readonly QueryTerm[]): Promise<KeywordAnswer> => {
    const answers = await Promise.all(
      places.map(({ source, scope }) => store.searchKeyword({ terms: asked, sources: [source], scope, limit })),
    );
    // How many chunks there are, and how many hold a word, is told of the whole index each time.
    const { chunkCount, documentFrequencies } = answers[0] ?? nothing;
    return { rows: answers.flatMap(({ rows }) => rows), chunkCount, documentFrequencies };
  };
  if (terms.length === 0) return { answer: nothing, terms };
  const answer = await ask(terms);
  const unknown = (index: number, term: SearchTerm): boolean =>
    answer.documentFrequencies[index] === 0 &&
    term.kind === "word" &&
    !term.prefix &&
    term.term.length >= minPrefixLength;
  if (!terms.some((term, index) => unknown(index, term))) return { answer, terms };
  // Words that stand nowhere may be the beginning of some that do.
  const widened = terms.map((term, index) => (unknown(index, term) ? { ...term, prefix: true } : term));
  const wider = await ask(widened);
  return {
    answer: wider,
    terms: widened.map((term, index) => (wider.documentFrequencies[index] === 0 ? (terms[index] ?? term) : term)),
  };
}

const nothing: KeywordAnswer = { rows: [], chunkCount: 0, documentFrequencies: [] };

async function vectorLeg(
  store: ChunkStore,
  vectors: Embedder,
  query: string,
  places: readonly Place[],
  limit: number,
  signal: AbortSignal,
): Promise<VectorAnswer & Pick<EmbeddedQuery, "note" | "fallback">> {
  const { space, vector, note, fallback } = await vectors.embedQuery(query, signal);
  const answers = await Promise.all(
    places.map(({ source, scope }) => store.searchVector({ space, vector, sources: [source], scope, limit })),
  );
  return { rows: answers.flatMap(({ rows }) => rows), note, fallback };
}

/** How many candidates each source gave and how many of them are in the answer. */
function sourceCounts(
  places: readonly Place[],
  { candidates }: Ranking,
  kept: readonly Candidate[],
): NonNullable<SearchReport["sources"]> {
  const count = (of: readonly Candidate[], source: MemorySource): number =>
    of.filter(({ row }) => row.source === source).length;
  return places.map(({ source }) => ({
    source,
    candidates: count(candidates, source),
    kept: count(kept, source),
  }));
}

/** The configured weights, made to sum to 1. Alone, a leg has all the weight. */
function fusionWeights(settings: MemorySearchSettings, keywordRan: boolean): FusionWeights {
  const { vectorWeight, textWeight } = settings.query.hybrid;
  const sum = vectorWeight + textWeight;
  if (!keywordRan || sum === 0) return { vector: 1, text: 0 };
  return { vector: vectorWeight / sum, text: textWeight / sum };
}

/**
 * Applies `minScore` and the limit. The threshold is for the vector leg: a chunk that the keyword leg found stays,
 * unless the caller named a threshold for this search and the chunk does not hold the query exactly.
 */
function choose(
  ranking: Ranking,
  options: ManagerSearchOptions,
): { kept: Candidate[]; belowScore: number; overLimit: number } {
  const passed = ranking.candidates.filter((candidate) => {
    if (candidate.score >= options.minScore || candidate.exact) return true;
    return candidate.textScore !== undefined && !options.strict;
  });
  const merged = mergeOverlaps(passed, options.maxResults);
  const kept = withRoomForSources(merged, options.maxResults);
  return {
    kept,
    belowScore: ranking.candidates.length - passed.length,
    overLimit: merged.length - kept.length,
  };
}

function resultOf(candidate: Candidate, ranking: Ranking): MemorySearchResult {
  return {
    path: candidate.row.path,
    startLine: candidate.row.startLine,
    endLine: candidate.row.endLine,
    score: candidate.score,
    ...(candidate.vectorScore === undefined ? {} : { vectorScore: candidate.vectorScore }),
    ...(candidate.textScore === undefined ? {} : { textScore: candidate.textScore }),
    snippet: snippetOf(candidate.lines, candidate.matches.lines, ranking.terms),
    source: candidate.row.source,
  };
}

function degradation(
  keyword: PromiseSettledResult<unknown>,
  vector: PromiseSettledResult<unknown>,
  useKeywords: boolean,
  store: ChunkStore,
): string | undefined {
  if (vector.status === "rejected") return `keywords answered alone: ${messageOf(vector.reason)}`;
  if (keyword.status === "rejected") return `keyword search failed, meaning answered: ${messageOf(keyword.reason)}`;
  if (!useKeywords) return `keyword search is not available: ${store.health().fts.error ?? "FTS5 is missing"}`;
  return undefined;
}

function emptyReason(
  keyword: { terms: SearchTerm[]; answer: KeywordAnswer } | undefined,
  belowScore: number,
  places: readonly Place[],
): string {
  if (places.length === 0) return "nothing of what was asked for may be shown in this session";
  if (belowScore > 0) return `${belowScore} results are below minScore`;
  if (keyword && keyword.terms.length === 0) return "the query holds no word to search for";
  if (keyword && keyword.answer.documentFrequencies.every((count) => count === 0))
    return "no memory file holds any word of the query";
  return "nothing in memory matches";
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}
