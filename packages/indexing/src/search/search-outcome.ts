import { isFunctionWord } from "../text/languages/detect-language.ts";
import type {
  ManagerSearchOptions,
  MemorySearchResult,
  MemorySearchSettings,
  MemorySource,
  SearchCondition,
  SearchReport,
  Sentence,
} from "@memslot/core";
import { sentence, withReasons } from "@memslot/core/host";
import type { NoteIndex } from "../note-index.ts";
import type { IndexStats } from "../index-row-types.ts";
import { type FileKey, fileName } from "../chunk-store.ts";
import type { SearchedSource } from "../indexed-source.ts";
import type { Embedder } from "../embedding/embedder.ts";
import type { RerankStage } from "./rerank-stage.ts";
import type { FoundLines } from "../scan/verify-lines.ts";
import { matchStrength, ofNoDay, timeStrength } from "./confidence.ts";
import { chooseNotes, passesScore, type ScoredPassage } from "./passages/choose-passages.ts";
import { type Passage, sectionsAbove } from "./passages/passage.ts";
import { type FusionWeights, type MeaningScale, scaleOfRows } from "../fusion/score-fusion.ts";
import { type Candidate, type Retrieved, rank, type Ranking, type RetrievedByVector, scorePartsOf } from "./rank.ts";
import { isClosed, type SourceScope } from "./session-scope.ts";
import { isOfSession } from "./conversation-weight.ts";
import type { AskedQuery } from "./query/query-filters.ts";
import { type Days, isoDate } from "../text/times/calendar.ts";
import { readTimes } from "../text/times/read-times.ts";
import type { LanguageMemory } from "./words/word-source.ts";

/** Dropped candidates that are compared with their files at most. */
const mostDropped = 10;

export interface SearchOutcome {
  results: MemorySearchResult[];
  report: SearchReport;
  /** Conditions that limit the answer. */
  conditions?: readonly SearchCondition[] | undefined;
  /** Indexed lines of each result for verification. Absent: read from the files. */
  lines?: ReadonlyMap<FileKey, readonly FoundLines[]> | undefined;
  /** Notes that fit the filters otherwise and have no day. Absent: it is not known, or none was looked for. */
  undated?: number | undefined;
}

export interface SearchInput {
  settings: MemorySearchSettings;
  backend: string;
  query: string;
  options: ManagerSearchOptions;
  asked?: AskedQuery | undefined;
  scope: SourceScope;
  now: Date;
  /** Days with notes in these places, in order. Absent: calendar years. */
  days?: ((places: readonly SearchedSource[]) => Promise<readonly number[]>) | undefined;
  /** Languages of the notes. Absent: counted for each query. */
  languages?: LanguageMemory | undefined;
  /** Chunk counts. Absent: counted with the search. */
  stats?: Pick<IndexStats, "chunks" | "sources"> | undefined;
  /** The state of the index that is asked, where that is known. */
  revision?: string | undefined;
  /** Sessions that run now, which are left out. */
  running?: readonly string[] | undefined;
  /** Receives everything that led to the answer, for `why`. */
  trace?: ((trace: SearchTrace) => void) | undefined;
}

export interface IndexQuestion extends SearchInput {
  store: NoteIndex;
  vectors: Embedder | undefined;
  rerank?: RerankStage | undefined;
}

/** All that led to an answer. */
export interface SearchTrace {
  input: SearchInput;
  places: readonly SearchedSource[];
  legs: Retrieved;
  ranking: Ranking;
  /** The candidates that have a place among the results, by note. */
  notes: readonly (readonly Candidate[])[];
  passages: readonly ScoredPassage[];
  /** Notes with a lower score than this were excluded. */
  noiseLimit: number;
}

export type { SearchedSource };

export function placesOf({ sources }: ManagerSearchOptions, scope: SourceScope): SearchedSource[] {
  return sources.map((source) => ({ source, scope: scope(source) })).filter((place) => !isClosed(place.scope));
}

export function filledPlaces(
  places: readonly SearchedSource[],
  stats: SearchInput["stats"],
): readonly SearchedSource[] {
  const filled = places.filter(({ source }) =>
    stats?.sources.some((each) => each.source === source && each.chunks > 0),
  );
  return stats === undefined ? places : filled.length > 0 ? filled : places.slice(0, 1);
}

export function rankingOf({ query, settings, now, running }: SearchInput, legs: Retrieved): Ranking {
  const times = legs.times ?? readTimes(query, { now });
  const ranking = rank(query, times, legs, fusionWeights(settings, legs.keyword !== undefined));
  return { ...ranking, candidates: ranking.candidates.filter(({ row }) => !isOfSession(row, running)) };
}

export function outcomeOf(
  input: SearchInput,
  places: readonly SearchedSource[],
  legs: Retrieved,
  given?: Ranking,
): SearchOutcome {
  const { options } = input;
  const { keyword, vector, degraded } = legs;
  const started = performance.now();
  const ranking = given ?? rankingOf(input, legs);
  const chosen = chooseNotes(ranking, options, input.asked);
  const { passages, belowScore, overLimit, overBudget, further, noteCount } = chosen;
  const explained = (passage: ScoredPassage): MemorySearchResult =>
    options.explain === true
      ? {
          ...resultOf(passage),
          sections: sectionsAbove(passage),
          parts: scorePartsOf(passage.best, ranking.isOnlyTime, passage.score),
        }
      : resultOf(passage);
  const lines = new Map(passages.map((passage) => [explained(passage), linesOf(passage)]));
  input.trace?.({ input, places, legs, ranking, ...chosen });
  const results = [...lines.keys()];
  const isDropped = (candidate: Candidate): boolean => !passesScore(candidate, options);
  const dropped = results.length > 0 ? [] : ranking.candidates.filter(isDropped).slice(0, mostDropped);
  const kept = passages.map(({ best }) => best);
  const keptBy = (by: "textScore" | "vectorScore"): number => kept.filter((each) => each[by] !== undefined).length;
  const noRoom = overBudget + further;
  const report: SearchReport = {
    backend: input.backend,
    mode: vector && keyword ? "hybrid" : vector ? "vector" : "keyword",
    state: "ok",
    legs: {
      keyword: keyword && {
        candidates: new Set([...keyword.answer.rows, ...(legs.ofTime ?? [])].map(({ id }) => id)).size,
        kept: keptBy("textScore"),
      },
      vector: vector && { candidates: vector.rows.length, kept: keptBy("vectorScore") },
    },
    sources: sourceCounts(places, ranking, kept),
    dropped: { minScore: belowScore, source: 0, limit: overLimit, ...(noRoom > 0 && { tokens: noRoom }) },
    found: { passages: passages.length + overLimit + noRoom, notes: noteCount, more: legs.isCut === true },
    ...strengthOf(input, legs, ranking, results),
    meaning: keyword && vector && scaleOf(vector),
    ...(keyword && keyword.readings.length > 0 && { readings: keyword.readings }),
    fallback: legs.fallback,
    timingsMs: { legs: round(legs.retrievalMs), rank: round(performance.now() - started) },
  };
  const compared = [...lines, ...dropped.map((candidate) => [candidate.row, [foundLines(candidate)]] as const)];
  return {
    results,
    report: withReasons(
      report,
      results.length === 0 && !degraded ? [emptyReason(input, legs, belowScore, places)] : [],
    ),
    lines: new Map<FileKey, readonly FoundLines[]>(compared),
    conditions: degraded ? [{ state: "degraded", ...degraded }] : [],
  };
}

export function withMore(outcome: SearchOutcome, more: readonly SearchCondition[]): SearchOutcome {
  return { ...outcome, conditions: [...more, ...(outcome.conditions ?? [])] };
}

function strengthOf(
  { query, now }: SearchInput,
  { keyword, vector, times = readTimes(query, { now }) }: Retrieved,
  { candidates, terms, isOnlyTime }: Ranking,
  results: readonly MemorySearchResult[],
): Pick<SearchReport, "confidence" | "match"> {
  if (keyword === undefined || (terms.length === 0 && !isOnlyTime)) return {};
  const notes = new Set(results.map(fileName));
  const isShown = ({ row }: Candidate): boolean => notes.has(fileName(row));
  const { periods, noDays } = times;
  if (isOnlyTime) return timeStrength(candidates.filter(isShown), periods);
  const frequencies = keyword.answer.documentFrequencies;
  const scale = vector && scaleOf(vector);
  const strength = matchStrength({ query, periods, terms, frequencies, scale, candidates, isShown });
  return noDays.length === 0 ? strength : ofNoDay(strength, noDays);
}

/** Without a measured scale, the rows determine it. */
function scaleOf({ rows, scale = scaleOfRows(rows) }: RetrievedByVector): MeaningScale {
  return scale;
}

function sourceCounts(
  places: readonly SearchedSource[],
  { candidates }: Ranking,
  kept: readonly Candidate[],
): NonNullable<SearchReport["sources"]> {
  const count = (of: readonly Candidate[], source: MemorySource): number =>
    of.filter(({ row }) => row.source === source).length;
  return places.map(({ source }) => ({ source, candidates: count(candidates, source), kept: count(kept, source) }));
}

/** The configured weights, made to sum to 1. Alone, a retriever has all the weight. */
function fusionWeights(settings: MemorySearchSettings, keywordRan: boolean): FusionWeights {
  const { vectorWeight, textWeight } = settings.query.hybrid;
  const sum = vectorWeight + textWeight;
  if (!keywordRan || sum === 0) return { vector: 1, text: 0 };
  return { vector: vectorWeight / sum, text: textWeight / sum };
}

export function resultOf({ best, ...passage }: ScoredPassage): MemorySearchResult {
  const { startLine, endLine, score, lines, heading, snippet } = passage;
  const { row, vectorScore, textScore } = best;
  const isWhole = lines === undefined || (lines[0]?.[0] === startLine && lines[0][1] === endLine);
  return {
    path: row.path,
    startLine,
    endLine,
    score,
    ...(vectorScore !== undefined && { vectorScore }),
    ...(textScore !== undefined && { textScore }),
    snippet,
    ...(!isWhole && { lines }),
    ...(heading !== undefined && { heading }),
    source: row.source,
  };
}

export function linesOf({ pieces }: Passage): FoundLines[] {
  return [...new Set(pieces.map(({ candidate }) => candidate))].map(foundLines);
}

function foundLines({ row: { startLine, endLine }, lines }: Candidate): FoundLines {
  return { startLine, endLine, lines };
}

function emptyReason(
  { query, now }: SearchInput,
  { keyword, times = readTimes(query, { now }) }: Retrieved,
  belowScore: number,
  places: readonly SearchedSource[],
): Sentence {
  if (places.length === 0) return sentence("empty.closed");
  if (belowScore > 0) return sentence("empty.minScore", { count: belowScore });
  const [time] = times.periods;
  if (times.isOnlyTime && time !== undefined) return noNoteOf(time);
  if (keyword && keyword.terms.length === 0) return sentence("empty.noWord");
  if (keyword?.terms.every(({ written = "" }) => isFunctionWord(written.toLowerCase(), [])))
    return sentence("empty.functionWords");
  if (keyword?.answer.documentFrequencies.every((n) => n === 0)) return sentence("empty.unknown");
  return sentence("empty.noMatch");
}

function noNoteOf({ from, to }: Days): Sentence {
  if (from === to) return sentence("empty.day", { day: isoDate(from) });
  return sentence("empty.days", { from: isoDate(from), to: isoDate(to) });
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}
