import type { ScoredId } from "@memslot/indexing/ledger-tables";
import { type CountedTerm, maxPostings, quoted, type WordsWith } from "./word-counts.ts";

/** Chunks that are weighed of those that hold very common words. They are the ones that were written last. */
const maxWeighed = 8000;
/** A search asks for so many chunks at least. Who asks for less wants to see how a word is written, and a fifth is weighed. */
const usualLimit = 100;
/** Terms of which all are to stand in a chunk, terms of which any is, and words that stand for a beginning. */
const maxTogether = 3;
const maxAny = 16;
const maxWords = 64;

/** What FTS5 is asked for. `newest`: among more chunks than it may weigh, the ones that were written last. */
export type AskWords = (match: string, newest: number | undefined) => ScoredId[];

/**
 * Finds chunks that hold one of the terms, without going through more than so many of them: the time that a search takes follows
 * the chunks that hold a word. Where the terms stand in too many, chunks that hold the rarest three of them come first, and what is
 * missing is filled with those that hold the rarest ones, as many as may be looked for. Best first.
 */
export function findBounded(
  terms: readonly CountedTerm[],
  limit: number,
  { ask, wordsWith }: { ask: AskWords; wordsWith: WordsWith },
): ScoredId[] {
  if (terms.length === 0) return [];
  const matchOf = (term: CountedTerm): string => matchOfTerm(term, wordsWith);
  const share = limit < usualLimit ? 0.2 : 1;
  if (sumOf(terms) <= share * maxPostings) return ask([...new Set(terms.map(matchOf))].join(" OR "), undefined);
  const rarest = terms.toSorted((left, right) => left.postings - right.postings);
  const together = ask(rarest.slice(0, maxTogether).map(matchOf).join(" AND "), share * maxWeighed);
  if (together.length >= limit) return together;
  const some = rarest.slice(0, maxAny).filter((_, index) => sumOf(rarest.slice(0, index + 1)) <= share * maxPostings);
  let more = some.length > 0 ? ask(some.map(matchOf).join(" OR "), undefined) : [];
  // The rarest word may be too common, or stand in other sources alone.
  for (let at = some.length; together.length + more.length === 0 && at < rarest.length; at += maxTogether) {
    const next = rarest.slice(at, at + maxTogether);
    more = ask(next.map(matchOf).join(" OR "), share * maxWeighed);
  }
  const known = new Set(together.map(({ id }) => id));
  return [...together, ...more.filter(({ id }) => !known.has(id))].slice(0, limit);
}

function sumOf(terms: readonly CountedTerm[]): number {
  return terms.reduce((sum, { postings }) => sum + postings, 0);
}

/** FTS5 puts all places of a beginning together before it gives the first: of many, some words stand for it. */
function matchOfTerm({ term, postings }: CountedTerm, wordsWith: WordsWith): string {
  if (!term.prefix) return quoted(term.term);
  if (postings <= maxPostings) return `${quoted(term.term)} *`;
  let sum = 0;
  const words = wordsWith(term.term).filter(({ chunks }, index) => {
    sum += chunks;
    return index === 0 || (index < maxWords && sum <= maxPostings / 2);
  });
  return `(${words.map(({ word }) => quoted(word)).join(" OR ")})`;
}
