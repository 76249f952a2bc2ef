import type { TermScanner } from "./languages/chunk-terms.ts";
import { isEnding } from "./word-forms.ts";
import type { SearchTerm } from "./query-terms.ts";
import { scanTerms } from "./index-terms.ts";

export interface CountedText {
  counts: ReadonlyMap<number, number>;
  length: number;
}

/** Saturation and length normalisation of BM25 (Robertson and Zaragoza 2009), as in SQLite's FTS5. */
const k1 = 1.2;
const b = 0.75;

/** Inverse document frequency, never negative: log(1 + (N - n + 0.5) / (n + 0.5)), Robertson and Spärck Jones. */
export function inverseDocumentFrequency(chunkCount: number, documentFrequency: number): number {
  const count = Math.min(documentFrequency, chunkCount);
  return Math.log(1 + (chunkCount - count + 0.5) / (count + 0.5));
}

/** Score of one term with `count` occurrences. `share`: relative text length. */
export function termScore(idf: number, count: number, share: number): number {
  return (idf * count * (k1 + 1)) / (count + k1 * (1 - b + b * share));
}

/** What a term adds to a text that is nothing but that term, however short texts are usually. */
function idealTermScore(idf: number): number {
  return (idf * (k1 + 1)) / (1 + k1 * (1 - b));
}

/** BM25 from the given texts only: counts of the whole index would reveal other notes. */
export function bm25Within(
  texts: readonly CountedText[],
  { chunkCount, documentFrequencies }: { chunkCount: number; documentFrequencies: readonly number[] },
): number[] {
  const weights = documentFrequencies.map((holders) => inverseDocumentFrequency(chunkCount, holders));
  const usualLength = texts.reduce((sum, { length }) => sum + length, 0) / Math.max(1, texts.length);
  return texts.map(({ counts, length }) => {
    const share = usualLength > 0 ? length / usualLength : 1;
    let score = 0;
    for (const [index, weight] of weights.entries()) {
      score += termScore(weight, counts.get(index) ?? 0, share);
    }
    return score;
  });
}

const manyChunks = 5000;
/** Chunks that may hold a term, as a share of all, before it counts as very common. */
const commonShare = 0.2;

export function isLarge(chunkCount: number): boolean {
  return chunkCount > manyChunks;
}

export function byRarity<Term>(
  terms: readonly Term[],
  holders: readonly number[],
  chunkCount: number,
): Record<"rare" | "common", Term[]> {
  const limit = isLarge(chunkCount) ? chunkCount * commonShare : chunkCount;
  const matching = (least: number, most: number): Term[] =>
    terms.filter((_, index) => (holders[index] ?? 0) > least && (holders[index] ?? 0) <= most);
  return { rare: matching(0, limit), common: matching(limit, Infinity) };
}

/** Weight of a compound that ends with a query word. */
const endingShare = 0.5;

export interface WeightedTerm extends SearchTerm {
  /** log(1 + (N - n + 0.5) / (n + 0.5)) over chunks (Robertson and Spärck Jones). */
  idf: number;
}

export interface TextMatches {
  lines: LineMatches[];
  /** How often each of the query's terms occurs, by index, in the lines and in the headings above them. */
  counts: Map<number, number>;
  words: number;
}

export interface LineMatches {
  /** Distinct query terms in the line, by index, with how often they occur. */
  counts: Map<number, number>;
  /** Position in the text, in words, of every occurrence. */
  positions: { term: number; word: number }[];
}

/** `shares`: how much a line counts, by its index, from 0 to 1. Absent: all count fully. */
export function matchLines(
  lines: readonly string[],
  context: string,
  terms: readonly WeightedTerm[],
  scan: TermScanner = scanTerms,
  shares?: readonly number[],
): TextMatches {
  const exact = new Map<string, number>();
  const prefixes: { prefix: string; index: number }[] = [];
  const backward: typeof prefixes = [];
  for (const [index, term] of terms.entries()) {
    if (term.prefix) prefixes.push({ prefix: term.term, index });
    else exact.set(term.term, index);
    for (const form of term.forms ?? []) exact.set(form, index);
    for (const ending of term.endings ?? []) {
      if (ending.prefix) backward.push({ prefix: ending.term, index });
      else exact.set(ending.term, index);
    }
  }
  const hasForms = terms.some(({ forms, endings }) => forms !== undefined || endings !== undefined);
  const total = new Map<number, number>();
  let words = 0;
  const matchLine = (line: string, ofLine = 1): LineMatches => {
    const counts = new Map<number, number>();
    const positions: LineMatches["positions"] = [];
    const foundAt = hasForms ? new Map<number, number>() : undefined;
    const note = (index: number, start: number, share = 1): void => {
      foundAt?.set(index, start);
      if (ofLine === 0) return;
      add(counts, index, share * ofLine);
      // However often a weak line is repeated, it counts once.
      if (ofLine < 1) return void total.set(index, Math.max(total.get(index) ?? 0, share * ofLine));
      add(total, index, share);
      positions.push({ term: index, word: words });
    };
    scan(line, (term, start, _end, kind) => {
      if (kind === "word" || kind === "pair") words++;
      const index = exact.get(term);
      if (index !== undefined && (kind !== "stem" || foundAt?.get(index) !== start))
        note(index, start, isEnding(term) ? endingShare : 1);
      if (kind === "stem" && isEnding(term))
        for (const entry of backward)
          if (foundAt?.get(entry.index) !== start && term.startsWith(entry.prefix))
            note(entry.index, start, endingShare);
      if (prefixes.length > 0)
        for (const entry of prefixes) if (term.startsWith(entry.prefix)) note(entry.index, start);
    });
    return { counts, positions };
  };
  const matched = lines.map((line, at) => matchLine(line, shares?.[at]));
  const wordsInLines = words;
  matchLine(context);
  return { lines: matched, counts: total, words: wordsInLines };
}

function add(counts: Map<number, number>, index: number, share: number): void {
  counts.set(index, (counts.get(index) ?? 0) + share);
}

/** BM25 of a chunk, computed here: equal for every store, and meaningful in tiny indexes. */
export function bm25(matches: TextMatches, averageWords: number, terms: readonly WeightedTerm[]): number {
  const length = averageWords > 0 ? matches.words / averageWords : 1;
  let score = 0;
  for (const [index, count] of matches.counts) {
    score += termScore(terms[index]?.idf ?? 0, count, length);
  }
  return score;
}

/** What BM25 gives a text that is the query and nothing else. */
export function idealBm25(terms: readonly WeightedTerm[]): number {
  return idealTermScore(terms.reduce((sum, term) => sum + term.idf, 0));
}

export function lineScore(line: LineMatches, terms: readonly WeightedTerm[]): number {
  let score = 0;
  for (const [index, count] of line.counts)
    score += (terms[index]?.idf ?? 0) * (count < 1 ? count : 1 + 0.25 * Math.min(count - 1, 3));
  return score;
}

const nearWords = 8;

/** Bonus for adjacent query words: the smaller weight divided by the distance, up to 8 words. */
export function proximityScore(matches: TextMatches, terms: readonly WeightedTerm[]): number {
  const nearest = new Map<number, number>();
  const last = new Map<number, number>();
  for (const { positions } of matches.lines)
    for (const { term, word } of positions) {
      last.set(term, word);
      for (const left of [term - 1, term]) {
        const gap = Math.abs((last.get(left) ?? Infinity) - (last.get(left + 1) ?? -Infinity));
        if (gap <= nearWords && gap < (nearest.get(left) ?? Infinity)) nearest.set(left, gap);
      }
    }
  let score = 0;
  for (const [index, gap] of nearest) {
    const [left, right] = [terms[index], terms[index + 1]];
    if (left?.kind === "word" && right?.kind === "word")
      score += Math.min(left.idf, right.idf) * (1 - (gap - 1) / nearWords);
  }
  return score;
}
