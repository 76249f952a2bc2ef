import type { QueryTerm } from "@memslot/indexing";
import type Database from "better-sqlite3";
import { wordTable } from "./word-tables.ts";

/** Postings (word and chunk) that FTS5 scores per query: about 15 ms. */
export const maxPostings = 50_000;
/** Words counted for a prefix. */
const maxPrefixWords = 1000;
/** Postings counted per query, about 8 ms. The rest is estimated. */
const countedAtMost = 500_000;
const lookedAt = 1000;
const keptWords = 4000;

export interface CountedTerm {
  term: QueryTerm;
  chunks: number;
  /** Postings that FTS5 reads: more than chunks, if several words have the prefix. */
  postings: number;
}

/** The words of one generation that begin with something, rarest first. */
export type WordsWith = (beginning: string) => { word: string; chunks: number }[];

export interface WordCounts {
  countChunks(): number;
  countAll(terms: readonly QueryTerm[]): CountedTerm[];
  wordsWith: WordsWith;
}

/** Counts words in the table of one generation. Called inside a transaction. */
export function createWordCounts(db: Database.Database, generation: number): WordCounts {
  const words = wordTable(generation);
  db.exec(`
    DROP TABLE IF EXISTS temp.chunk_words;
    CREATE VIRTUAL TABLE temp.chunk_words USING fts5vocab(main, ${words}, 'row');
  `);
  const frequency = db.prepare<[string], number>("SELECT doc FROM chunk_words WHERE term = ?").pluck();
  const beginnings = db.prepare<[string, string], { word: string; chunks: number }>(
    `SELECT term AS word, doc AS chunks FROM chunk_words WHERE term >= ? AND term < ? LIMIT ${maxPrefixWords}`,
  );
  const holders = db.prepare<[string], number>(`SELECT count(*) FROM ${words} WHERE ${words} MATCH ?`).pluck();
  const firstHolders = db.prepare<[string], { found: number; last: number | null }>(
    `SELECT count(*) AS found, max(rowid) AS last FROM
       (SELECT rowid FROM ${words} WHERE ${words} MATCH ? LIMIT ${lookedAt})`,
  );
  const span = db.prepare<[], { first: number | null; last: number | null }>(
    // Each by itself is one step.
    `SELECT (SELECT min(id) FROM ${words}_docsize) AS first, (SELECT max(id) FROM ${words}_docsize) AS last`,
  );
  const changes = db.prepare<[], number>("SELECT total_changes()").pluck();
  // The smallest table that has one row for each chunk.
  const allChunks = db.prepare<[], number>(`SELECT count(*) FROM ${words}_docsize`).pluck();
  const counts = new Map<string, number>();
  const estimates = new Map<string, number>();
  let chunkCount = 0;
  let countedAt = "";
  const each = (beginning: string): IterableIterator<{ word: string; chunks: number }> =>
    beginnings.iterate(beginning, `${beginning}\u{10ffff}`);

  /** Exact for rare words; otherwise extrapolated from the first chunks. */
  function estimate(word: string): number {
    const { found = 0, last } = firstHolders.get(quoted(word)) ?? {};
    if (found < lookedAt) return found;
    const { first, last: end } = span.get() ?? {};
    const share = ((last ?? 0) - (first ?? 0) + 1) / ((end ?? 0) - (first ?? 0) + 1);
    return Math.max(found, Math.min(chunkCount, Math.round(found / share)));
  }

  /** Counting stops beyond the number of chunks and of scored postings. */
  function countBeginning(beginning: string): number {
    let postings = 0;
    for (const { chunks } of each(beginning)) {
      postings += chunks;
      if (postings > Math.max(chunkCount, maxPostings)) break;
    }
    return postings;
  }

  function expire(): void {
    const state = `${String(db.pragma("data_version", { simple: true }))} ${changes.get()}`;
    if (state === countedAt && counts.size + estimates.size <= keptWords) return;
    counts.clear();
    estimates.clear();
    countedAt = state;
    chunkCount = allChunks.get() ?? 0;
  }

  function countWord(word: string): number {
    return remembered(counts, word, () => frequency.get(word) ?? 0);
  }

  function remembered(known: Map<string, number>, word: string, count: () => number): number {
    const before = known.get(word);
    if (before !== undefined) return before;
    const chunks = count();
    known.set(word, chunks);
    return chunks;
  }

  return {
    countChunks() {
      expire();
      return chunkCount;
    },
    countAll(terms) {
      expire();
      let counted = 0;
      return terms.map((term) => {
        const postings = term.prefix
          ? remembered(counts, `${term.term}*`, () => countBeginning(term.term))
          : counted > countedAtMost && !counts.has(term.term)
            ? remembered(estimates, term.term, () => estimate(term.term))
            : countWord(term.term);
        counted += postings;
        // Several words of a prefix may be in one chunk: those that may be scored are counted once.
        const match = `${quoted(term.term)} *`;
        const chunks =
          term.prefix && postings > 0 && postings <= maxPostings
            ? remembered(counts, match, () => holders.get(match) ?? 0)
            : Math.min(chunkCount, postings);
        return { term, chunks, postings };
      });
    },
    wordsWith: (beginning) => [...each(beginning)].toSorted((left, right) => left.chunks - right.chunks),
  };
}

/** A word as a string of the query language of FTS5, in which no character means anything but itself. */
export function quoted(word: string): string {
  return `"${word.replaceAll('"', '""')}"`;
}
