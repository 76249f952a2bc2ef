import type { QueryTerm } from "@memslot/indexing";

/** What BM25 needs to know of a text: its words with how often they stand in it, and how many there are. */
export interface WordCounts {
  counts: ReadonlyMap<string, number>;
  length: number;
}

export function countWords(terms: string): WordCounts {
  const counts = new Map<string, number>();
  const words = terms.split(/\s+/u).filter((word) => word !== "");
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return { counts, length: words.length };
}

/** How often a text holds a term; for a prefix, how often any word that begins with it. */
function frequencyOf(term: QueryTerm, words: WordCounts): number {
  if (!term.prefix) return words.counts.get(term.term) ?? 0;
  let frequency = 0;
  for (const [word, count] of words.counts) if (word.startsWith(term.term)) frequency += count;
  return frequency;
}

const k1 = 1.2;
const b = 0.75;
// SQLite's FTS5 gives a term that stands in more than half of the texts this weight, so that no score is negative.
const smallestWeight = 1e-6;

export interface Bm25Answer {
  /** For each term, how many texts hold it. */
  documentFrequencies: number[];
  /** For each text, its score; 0 where it holds none of the terms. */
  scores: number[];
}

/** Exact BM25 over a handful of texts, with the constants and the term weight of SQLite's FTS5. */
export function bm25(terms: readonly QueryTerm[], texts: readonly WordCounts[]): Bm25Answer {
  const averageLength = texts.reduce((sum, text) => sum + text.length, 0) / Math.max(1, texts.length);
  const scores = texts.map(() => 0);
  const documentFrequencies = terms.map((term) => {
    const frequencies = texts.map((text) => frequencyOf(term, text));
    const holders = frequencies.filter((frequency) => frequency > 0).length;
    const weight = Math.max(smallestWeight, Math.log((texts.length - holders + 0.5) / (holders + 0.5)));
    for (const [index, text] of texts.entries()) {
      const frequency = frequencies[index] ?? 0;
      const norm = k1 * (1 - b + (b * text.length) / averageLength);
      if (frequency > 0) scores[index] = (scores[index] ?? 0) + (weight * frequency * (k1 + 1)) / (frequency + norm);
    }
    return holders;
  });
  return { documentFrequencies, scores };
}
