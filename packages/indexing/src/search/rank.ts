import {
  inverseDocumentFrequency,
  termScore,
  bm25,
  idealBm25,
  lineScore,
  matchLines,
  proximityScore,
  type TextMatches,
  type WeightedTerm,
} from "../text/bm25.ts";
import type { ChunkRow, IndexVectorAnswer } from "../index-row-types.ts";
import { fileName } from "../chunk-store.ts";
import { createFusion, type FusionWeights, type MeaningScale, scaleOfRows } from "../fusion/score-fusion.ts";
import { fitOf, type NamedQuery, namedQuery, nameMatch, namesOfNote } from "./name-match.ts";
import { isTemplateName, namesIn, pathNames } from "../text/note-context.ts";
import type { QueryTimes } from "../text/times/read-times.ts";
import { type MatchedPeriod, timeOfPath } from "../text/times/note-days.ts";
import { byPlace, byTime, linesOfTime, scoreOfTime, type TimedCandidate, weighTimes } from "./time-weight.ts";
import { type HeldLanguages, scannerFor } from "../text/languages/chunk-terms.ts";
import type { WordsFound } from "./words/search-words.ts";
import { remembered } from "../text/word-cache.ts";
import { scanTerms } from "../text/index-terms.ts";
import { type ScoreParts, type SearchReport, type Sentence } from "@memslot/core";
import { isConversation } from "@memslot/core/host";
import { headingOf } from "../text/note-head.ts";
import { conversationShare, conversationWeights, oneOfEachSession, type SaidShares } from "./conversation-weight.ts";

/** What the weight of a chunk is made of, beside BM25. Measured on dated daily notes and flat around these values. */
const lineWeight = 0.5;
const otherLinesShare = 0.3;
const proximityWeight = 0.2;
/** The shares of the chunk and of its names, beside the evidence of its note. Flat within .4 to .6 and .6 to .9. */
const chunkOfNote = 0.5;
const namesOfNoteShare = 0.75;
const roleShares = { function: 0.05, question: 0.1 };
/** The weight of a template (a note with a placeholder in one of its names) beside that of other notes. */
const templateShare = 0.3;
/** The weight of a stub beside that of its target; of the target where the stub says more. */
const stubShare = 0.9;

export interface Candidate extends TimedCandidate {
  textScore: number | undefined;
  vectorScore: number | undefined;
  /** It holds every word of the query that the index knows, or an identifier of the query as written. */
  exact: boolean;
  /** What of it was said in a conversation. Absent: nothing, or the query is a time alone. */
  said?: SaidShares | undefined;
  /** How much of the score its vector alone gives, of 0 to the score. */
  meaning: number;
  places?: { before: number; after: number } | undefined;
  placeScore?: number | undefined;
}

/** A note that only says where its text is now, and the chunks of the note that it points to. */
export interface MovedNote {
  stub: ChunkRow["id"];
  rest: string;
  rows: readonly ChunkRow[];
}

/** What the vector search gave, and how its cosines are read. Without a scale they are read by themselves. */
export interface RetrievedByVector extends IndexVectorAnswer {
  scale?: MeaningScale | undefined;
}

export interface Retrieved {
  keyword: WordsFound | undefined;
  vector: RetrievedByVector | undefined;
  /** The times that the query names, and the chunks of notes of them. Absent: they are only read from the query. */
  times?: QueryTimes | undefined;
  ofTime?: readonly ChunkRow[] | undefined;
  moved?: readonly MovedNote[] | undefined;
  isCut?: boolean | undefined;
  /** Why the answer is worth less than it could be. */
  degraded: Sentence | undefined;
  fallback?: SearchReport["fallback"];
  retrievalMs: number;
}

export interface Ranking {
  candidates: Candidate[];
  terms: WeightedTerm[];
  /** The query is a time and nothing else. */
  isOnlyTime: boolean;
}

/**
 * Merges the two retrievers, best first. Chunk weight: `bm25 + 0.5 × (best line + 0.3 × other lines) + 0.2 ×
 * proximity`. The keyword weight adds `ideal × name match`; for topical notes it is `0.5 × chunk weight + bm25 of the
 * note + 0.75 × ideal × name match`; both add `top × date weight`. Score: `1 - e^(-1.5 × weight / ideal)`, with the
 * BM25 of the query itself as ideal; strictly rising, below 1, comparable between indexes. `createFusion` combines it
 * with the cosine.
 */
export function rank(
  query: string,
  { periods, isOnlyTime }: Pick<QueryTimes, "periods" | "isOnlyTime">,
  { keyword: found, vector, ofTime = [], moved = [] }: Retrieved,
  weights: FusionWeights,
): Ranking {
  const { answer: keyword, languages } = found ?? {};
  const terms = (found?.terms ?? []).map((term, index): WeightedTerm => {
    return {
      ...term,
      idf:
        (term.role === undefined ? 1 : roleShares[term.role]) *
        inverseDocumentFrequency(keyword?.chunkCount ?? 0, keyword?.documentFrequencies[index] ?? 0),
    };
  });
  const candidates = new Map<ChunkRow["id"], Candidate>();
  const targets = moved.flatMap(({ rows }) => rows);
  const all = [...(keyword?.rows ?? []), ...ofTime, ...targets];
  const weightsOf = isOnlyTime ? undefined : conversationWeights(query, [...all, ...(vector?.rows ?? [])]);
  for (const row of all) {
    if (candidates.has(row.id)) continue;
    candidates.set(row.id, candidateOf(isOnlyTime ? linesOfTime(row, periods) : row, terms, languages, weightsOf));
  }
  weighKeywords([...candidates.values()], namedQuery(terms, query), terms, periods);
  followStubs(moved, candidates, terms);
  for (const row of vector?.rows ?? []) {
    const candidate = candidates.get(row.id) ?? candidateOf(row, terms, languages, weightsOf);
    candidate.vectorScore = Math.max(-1, Math.min(1, row.score));
    candidates.set(row.id, candidate);
  }
  const ranked = [...candidates.values()].filter(isOwnFind);
  const fuse = vector && fusionOf(vector, weights);
  const ideal = idealBm25(terms);
  const known = new Set(terms.keys().filter((index) => (keyword?.documentFrequencies[index] ?? 0) > 0));
  for (const candidate of ranked) {
    if (candidate.keywordWeight > 0 && ideal > 0) {
      candidate.textScore = 1 - Math.exp(-1.5 * Math.min(candidate.keywordWeight / ideal, 20));
      candidate.exact = isExact(candidate.matches, terms, known);
    }
    candidate.score = fuse?.(candidate) ?? candidate.textScore ?? 0;
    if (fuse && candidate.vectorScore !== undefined)
      candidate.meaning = fuse({ ...candidate, textScore: undefined, exact: false });
    if (isOnlyTime) candidate.score = scoreOfTime(candidate);
    else if (candidate.said?.isTalk === true) {
      candidate.score *= conversationShare;
      candidate.meaning *= conversationShare;
    }
  }
  ranked.sort(isOnlyTime ? (a, b) => byTime(a, b) || byScore(a, b) : byScore);
  return { candidates: isOnlyTime ? ranked : oneOfEachSession(ranked), terms, isOnlyTime };
}

/** False for lines of a digest alone whose session is found itself. */
function isOwnFind({ said, keywordWeight, vectorScore, timeMatch }: Candidate): boolean {
  if (said === undefined) return true;
  return !said.isRepeated && (keywordWeight > 0 || vectorScore !== undefined || timeMatch > 0);
}

export function candidateOf(
  row: ChunkRow,
  terms: readonly WeightedTerm[],
  languages?: HeldLanguages | undefined,
  weightsOf?: ReturnType<typeof conversationWeights>,
): Candidate {
  const lines = row.text.split("\n");
  const above = namesAbove(`${row.path}\0${row.context}`);
  const scan = languages && languages.held.length > 0 ? scannerFor([...lines, above], languages) : scanTerms;
  const said = weightsOf?.(row, lines, scan);
  return {
    row,
    lines,
    scan,
    said,
    matches: matchLines(lines, above, terms, scan, said?.shares),
    keywordWeight: 0,
    shares: { words: 0, names: 0, dates: 0 },
    textScore: undefined,
    vectorScore: undefined,
    timeMatch: 0,
    days: undefined,
    held: 0,
    isNamed: false,
    exact: false,
    score: 0,
    meaning: 0,
  };
}

const namesAbove = remembered((placed) => {
  const [path = "", context = ""] = placed.split("\0");
  return [context, pathNames(path, context)].filter(Boolean).join("\n");
});

function weighKeywords(
  candidates: readonly Candidate[],
  named: NamedQuery,
  terms: readonly WeightedTerm[],
  periods: readonly MatchedPeriod[],
): void {
  const wordCount = candidates.reduce((sum, candidate) => sum + candidate.matches.words, 0);
  const ideal = idealBm25(terms);
  const ofNote = noteEvidence(candidates, terms, named);
  let top = 0;
  for (const candidate of candidates) {
    const { row, lines, matches, scan } = candidate;
    const scores = matches.lines.map((line) => lineScore(line, terms));
    const best = scores.reduce((most, score) => Math.max(most, score), 0);
    const others = scores.reduce((sum, score) => sum + score, 0) - best;
    const base = bm25(matches, wordCount / candidates.length, terms);
    const namesOwn = namesOfNote({ ...row, lines });
    const name = nameMatch(named, { ...row, lines }, scan, namesOwn);
    const evidence = ofNote.get(candidate);
    const own =
      base + lineWeight * (best + otherLinesShare * others) + proximityWeight * proximityScore(matches, terms);
    const names = (evidence === undefined ? 1 : namesOfNoteShare) * ideal * name;
    const words = evidence === undefined ? own : chunkOfNote * own + evidence;
    const share = namesOwn.some(isTemplateName) ? templateShare : 1;
    candidate.keywordWeight = share * (words + names);
    candidate.shares = { words: share * words, names: share * names, dates: 0 };
    top = Math.max(top, candidate.keywordWeight);
  }
  if (periods.length > 0) weighTimes(candidates, periods, terms, top > 0 ? top : ideal);
}

/** Moves the weight of a stub to the best chunk of its target, which precedes it. */
function followStubs(stubs: readonly MovedNote[], all: Map<ChunkRow["id"], Candidate>, terms: WeightedTerm[]): void {
  for (const { stub, rest, rows } of stubs) {
    const from = all.get(stub);
    const targets = rows.flatMap(({ id }) => all.get(id) ?? []);
    const [first] = targets.toSorted((a, b) => b.keywordWeight - a.keywordWeight);
    if (from === undefined || first === undefined) continue;
    const own = matchLines([rest], "", terms, from.scan).counts.keys();
    const isHeld = (term: number): boolean => targets.some(({ matches }) => matches.counts.has(term));
    const isOnlyLink = own.every((term) => terms[term]?.role !== undefined || isHeld(term));
    const { keywordWeight, shares } = from;
    const passed = isOnlyLink ? keywordWeight : stubShare * keywordWeight;
    if (passed > first.keywordWeight) Object.assign(first, { keywordWeight: passed, shares });
    if (isOnlyLink) from.keywordWeight *= stubShare;
  }
}

function isExact(matches: TextMatches, terms: readonly WeightedTerm[], known: ReadonlySet<number>): boolean {
  if (known.size > 0 && [...known].every((index) => matches.counts.has(index))) return true;
  return [...matches.counts.keys()].some((index) => isWrittenCode(terms[index]));
}

function isWrittenCode(term: WeightedTerm | undefined): boolean {
  return term !== undefined && term.identifier && (term.kind === "whole" || /\p{L}/u.test(term.term));
}

function fusionOf(
  { rows, scale = scaleOfRows(rows) }: RetrievedByVector,
  weights: FusionWeights,
): (candidate: Candidate) => number {
  const cosines = new Map(rows.map(({ id, score }) => [id, Math.max(-1, Math.min(1, score))]));
  const fuse = createFusion(weights, scale, Math.min(...cosines.values()));
  return ({ row, textScore, exact }) => fuse({ cosine: cosines.get(row.id), textScore, exact });
}

function byScore(a: Candidate, b: Candidate): number {
  return b.score - a.score || b.keywordWeight - a.keywordWeight || byPlace(a, b);
}

const sectionFit = 0.5;

/** BM25 of each candidate's note, so that a topical note precedes a long one that mentions the topic. */
function noteEvidence(
  candidates: readonly TimedCandidate[],
  terms: readonly WeightedTerm[],
  named: NamedQuery,
): Map<TimedCandidate, number> {
  const isNote = ({ row }: TimedCandidate): boolean => !isConversation(row) && timeOfPath(row.path) === undefined;
  const notes = [...Map.groupBy(candidates.filter(isNote), ({ row }) => fileName(row)).values()];
  const mean = notes.reduce((sum, note) => sum + lengthOf(note), 0) / notes.length;
  const score = (counts: ReadonlyMap<number, number>, length: number): number =>
    counts.entries().reduce((sum, [index, count]) => sum + termScore(terms[index]?.idf ?? 0, count, length / mean), 0);
  const evidence = new Map<TimedCandidate, number>();
  for (const note of notes) {
    const whole = score(countsOf(note, terms, named), lengthOf(note));
    for (const candidate of note) {
      let best = whole;
      for (const { title, from, to } of sectionsOf(candidate)) {
        if (fitOf(named, title, candidate.scan).share < sectionFit) continue;
        const counts = sum(candidate.matches.lines.slice(from, to).map((line) => line.counts));
        const length = candidate.lines.slice(from, to).reduce((bytes, line) => bytes + Buffer.byteLength(line), 0);
        best = Math.max(best, score(counts, length));
      }
      evidence.set(candidate, best);
    }
  }
  return evidence;
}

function lengthOf(note: readonly TimedCandidate[]): number {
  return note[0]?.row.noteBytes ?? note.reduce((bytes, { row }) => bytes + Buffer.byteLength(row.text), 0);
}

function countsOf(
  note: readonly TimedCandidate[],
  terms: readonly WeightedTerm[],
  named: NamedQuery,
): ReadonlyMap<number, number> {
  const counts = sum(note.map(({ matches }) => matches.counts));
  for (const { row, lines, scan } of note.slice(0, 1))
    for (const name of namesOfNote({ ...row, lines }))
      for (const term of fitOf(named, name, scan).found) {
        const index = terms.indexOf(term);
        if (!counts.has(index)) counts.set(index, 1);
      }
  return counts;
}

function sum(all: readonly ReadonlyMap<number, number>[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const each of all) for (const [index, count] of each) counts.set(index, (counts.get(index) ?? 0) + count);
  return counts;
}

function* sectionsOf({ row, lines }: TimedCandidate): Generator<{ title: string; from: number; to: number }> {
  const title = namesIn(row.context).titles.at(-1);
  const open = title === undefined ? [] : [{ title, level: 6, from: 0 }];
  for (const [at, line] of lines.entries()) {
    const heading = line.includes("#") ? headingOf(line) : undefined;
    if (heading === undefined) continue;
    while ((open.at(-1)?.level ?? 0) >= heading.level) for (const ended of open.splice(-1)) yield { ...ended, to: at };
    open.push({ ...heading, from: at });
  }
  for (const ended of open) yield { ...ended, to: lines.length };
}

/** The parts of a displayed score; they add up to it. `shown`: the score of a further passage. */
export function scorePartsOf(candidate: Candidate, isOnlyTime: boolean, shown?: number): ScoreParts {
  const { score, placeScore, places } = candidate;
  const whole = placeScore ?? score;
  const scale = shown === undefined || whole === 0 ? 1 : shown / whole;
  const { words, names, dates, meaning } = partsOf(candidate, isOnlyTime);
  const parts = { words: words * scale, names: names * scale, dates: dates * scale, meaning: meaning * scale };
  return places ? { ...parts, rerank: { ...places, change: (whole - score) * scale } } : parts;
}

function partsOf({ score, shares, timeMatch, ...candidate }: Candidate, isOnlyTime: boolean): ScoreParts {
  // A note of the requested date scores for that alone.
  if (isOnlyTime && timeMatch > 0) return { words: 0, names: 0, dates: score, meaning: 0 };
  const weight = shares.words + shares.names + shares.dates;
  if (weight === 0) {
    const isByVector = candidate.vectorScore !== undefined;
    return { words: isByVector ? 0 : score, names: 0, dates: 0, meaning: isByVector ? score : 0 };
  }
  const meaning = Math.min(candidate.meaning, score);
  const each = (score - meaning) / weight;
  return { words: each * shares.words, names: each * shares.names, dates: each * shares.dates, meaning };
}
