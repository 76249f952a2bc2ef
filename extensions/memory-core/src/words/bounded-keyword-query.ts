import type { ScoredId } from "@memslot/indexing/ledger-tables";
import { type CountedTerm, maxPostings, quoted, type WordsWith } from "./word-counts.ts";

/** Chunks that are scored for very common words: the most recent ones. */
const maxWeighed = 8000;
/** Usual candidate limit. Smaller requests only look up spellings and score a fifth. */
const usualLimit = 100;
/** Terms that must occur together, alternative terms, and words that represent a prefix. */
const maxTogether = 3;
const maxAny = 16;
const maxWords = 64;

/** A query for FTS5. `newest`: of too many chunks, the most recent ones. */
export type AskWords = (match: string, newest: number | undefined) => ScoredId[];

/**
 * Best chunks for the terms without reading more than a bounded number: chunks with the rarest three terms first, then
 * those with the rarest ones.
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
  // The rarest word may be too common, or only in other sources.
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

/** FTS5 merges all postings of a prefix first, so a large prefix is represented by some of its words. */
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
