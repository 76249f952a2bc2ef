import type {
  ManagerSearchOptions,
  MemorySearchResult,
  MemorySearchSettings,
  MemorySource,
  SearchReport,
} from "@memslot/core";
import type { ChunkRow, IndexVectorAnswer } from "../chunk-index.ts";
import type { PathScope } from "../chunk-store.ts";
import type { FoundLines } from "./held-lines.ts";
import { mergeOverlaps } from "./merge-overlaps.ts";
import { type Candidate, type FusionWeights, rank, type Ranking } from "./rank.ts";
import { isClosed, type SourceScope } from "./session-scope.ts";
import { snippetOf } from "./snippet.ts";
import { type Days, isoDate } from "../text/times/calendar.ts";
import { type QueryTimes, readTimes } from "../text/times/read-times.ts";
import type { WordsFound } from "./words/ask-words.ts";

/** The results of one search with what its report says. The caller adds freshness to the state. */
export interface SearchOutcome {
  results: MemorySearchResult[];
  report: SearchReport;
  /** What the index holds of each result, to be compared with its file. Absent: it was read from there. */
  lines?: ReadonlyMap<MemorySearchResult, FoundLines> | undefined;
}

/** What a search is about, whatever finds the candidates. */
export interface SearchInput {
  settings: MemorySearchSettings;
  /** The id of the memory plugin. */
  backend: string;
  query: string;
  options: ManagerSearchOptions;
  /** What of each source may be found. */
  scope: SourceScope;
  now: Date;
  /** The days, in order, that there are notes of in these places. Absent: the calendar's years are meant. */
  days?: ((places: readonly SearchedSource[]) => Promise<readonly number[]>) | undefined;
}

/** What the legs of a search have given. */
export interface LegAnswers {
  keyword: WordsFound | undefined;
  vector: IndexVectorAnswer | undefined;
  /** The times that the query names, and the chunks of notes of them. Absent: they are only read from the query. */
  times?: QueryTimes | undefined;
  ofTime?: readonly ChunkRow[] | undefined;
  /** Why the answer is worth less than it could be. */
  degraded: string | undefined;
  fallback?: SearchReport["fallback"];
  /** Milliseconds that the legs took. */
  legsMs: number;
}

/** A source that is searched by itself, so that none crowds another out of the candidates. */
export interface SearchedSource {
  source: MemorySource;
  scope: PathScope | undefined;
}

export function placesOf({ sources }: ManagerSearchOptions, scope: SourceScope): SearchedSource[] {
  return sources.map((source) => ({ source, scope: scope(source) })).filter((place) => !isClosed(place.scope));
}

/** Makes one list of what the legs found, cuts snippets, and says what came of it. The caller adds freshness to the state. */
export function outcomeOf(input: SearchInput, places: readonly SearchedSource[], legs: LegAnswers): SearchOutcome {
  const { settings, options } = input;
  const { keyword, vector, degraded } = legs;
  const started = performance.now();
  const ranking = rank({
    terms: keyword?.terms ?? [],
    keyword: keyword?.answer,
    vector,
    weights: fusionWeights(settings, keyword !== undefined),
    times: legs.times ?? readTimes(input.query, { now: input.now }),
    ofTime: legs.ofTime ?? [],
    languages: keyword?.languages,
  });
  const { kept, belowScore, overLimit } = choose(ranking, options);
  const lines = new Map(kept.map((candidate) => [resultOf(candidate, ranking), linesOf(candidate)]));
  const results = [...lines.keys()];
  const report: SearchReport = {
    backend: input.backend,
    mode: vector && keyword ? "hybrid" : vector ? "vector" : "keyword",
    state: degraded ? "degraded" : "ok",
    reason: degraded ?? (results.length === 0 ? emptyReason(input, legs, belowScore, places) : undefined),
    legs: {
      keyword: keyword && {
        candidates: new Set([...keyword.answer.rows, ...(legs.ofTime ?? [])].map(({ id }) => id)).size,
        kept: kept.filter((candidate) => candidate.textScore !== undefined).length,
      },
      vector: vector && {
        candidates: vector.rows.length,
        kept: kept.filter((candidate) => candidate.vectorScore !== undefined).length,
      },
    },
    sources: sourceCounts(places, ranking, kept),
    dropped: { minScore: belowScore, source: 0, limit: overLimit },
    confidence: ranking.confidence,
    ...(keyword && keyword.readings.length > 0 && { readings: keyword.readings }),
    fallback: legs.fallback,
    timingsMs: { legs: round(legs.legsMs), rank: round(performance.now() - started) },
  };
  return { results, report, lines };
}

/** How many candidates each source gave and how many of them are in the answer. */
function sourceCounts(
  places: readonly SearchedSource[],
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
    snippet: snippetOf(candidate.lines, candidate.matches.lines, ranking.terms, undefined, candidate.scan),
    source: candidate.row.source,
  };
}

function linesOf({ row, lines }: Candidate): FoundLines {
  return { startLine: row.startLine, endLine: row.endLine, lines };
}

function emptyReason(
  { query, now }: SearchInput,
  { keyword, times = readTimes(query, { now }) }: LegAnswers,
  belowScore: number,
  places: readonly SearchedSource[],
): string {
  if (places.length === 0) return "nothing of what was asked for may be shown in this session";
  if (belowScore > 0)
    return belowScore === 1 ? "1 result is below minScore" : `${belowScore} results are below minScore`;
  const [time] = times.periods;
  if (times.isOnlyTime && time !== undefined) return `there is no note of ${spanText(time)}`;
  if (keyword && keyword.terms.length === 0) return "the query holds no word to search for";
  if (keyword && keyword.answer.documentFrequencies.every((count) => count === 0))
    return "no memory file holds any word of the query";
  return "nothing in memory matches";
}

function spanText({ from, to }: Days): string {
  return from === to ? isoDate(from) : `${isoDate(from)} to ${isoDate(to)}`;
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}

/**
 * The best candidates, with room for each source that has any: out of `limit` places each source keeps at least
 * `limit / (2 × sources)`, one at least, for its own best. So a heap of transcripts does not hide the one note, nor the
 * other way round. One place of two or more is for the best candidate that holds the query exactly: no weight that is
 * given to meaning hides an identifier. `candidates` are in their order, which the answer keeps.
 */
function withRoomForSources(candidates: readonly Candidate[], limit: number): Candidate[] {
  const sources = new Set(candidates.map(({ row }) => row.source));
  const room = sources.size < 2 || limit < sources.size ? 0 : Math.max(1, Math.floor(limit / (2 * sources.size)));
  const kept = new Set<Candidate>();
  const exact = limit > 1 ? candidates.find((candidate) => candidate.exact) : undefined;
  for (const source of sources) {
    for (const candidate of candidates.filter(({ row }) => row.source === source).slice(0, room)) kept.add(candidate);
  }
  if (exact && kept.size < limit) kept.add(exact);
  for (const candidate of candidates) {
    if (kept.size >= limit) break;
    kept.add(candidate);
  }
  return candidates.filter((candidate) => kept.has(candidate));
}
