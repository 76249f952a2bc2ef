import type { KeywordAnswer, KeywordQuery, QueryTerm } from "@memslot/indexing";
import { bm25Within, type CountedText } from "@memslot/indexing";
import { type ListedChunk, type Listing, placeOf } from "../tables/listing.ts";
import { askedOf } from "./asked.ts";
import { canStandInTerms, gaps } from "./term-counts.ts";
import { byScore } from "./vector-search.ts";

/** How often each word stands in a chunk. */
interface Words {
  counts: ReadonlyMap<string, number>;
  length: number;
}

interface Held extends CountedText {
  chunk: ListedChunk;
}

/** Counted once. */
const counted = new WeakMap<ListedChunk, Words>();
const none: ReadonlyMap<number, number> = new Map();

/**
 * Keyword search where the words are in memory: all is counted exactly and nothing is asked of the place.
 * Counts and lengths are those of the whole index, or within a scope those of the scope.
 */
export function searchWords({ terms, limit, ...filter }: KeywordQuery, listing: Listing): KeywordAnswer {
  const asked = askedOf(filter, listing);
  const held: Held[] = [];
  const others: CountedText[] = [];
  const documentFrequencies = terms.map(() => 0);
  const askable = terms.map(canStandInTerms);
  for (const { chunks } of filter.scope ? asked.files : listing.files.values()) {
    for (const chunk of chunks) {
      const words = wordsOf(chunk);
      let counts = none as Map<number, number>;
      for (const [index, term] of terms.entries()) {
        const count = askable[index] === true ? countOf(term, words.counts) : 0;
        if (count === 0) continue;
        documentFrequencies[index] = (documentFrequencies[index] ?? 0) + 1;
        if (counts === none) counts = new Map();
        counts.set(index, count);
      }
      if (counts === none) others.push({ counts, length: words.length });
      else held.push({ chunk, counts, length: words.length });
    }
  }
  const chunkCount = held.length + others.length;

  // The usual length is that of all chunks, and in a scope that of the chunks that hold something.
  const scores = bm25Within(filter.scope ? held : [...held, ...others], { chunkCount, documentFrequencies });
  const rows = held.flatMap(({ chunk }, at) =>
    asked.has(chunk) ? [{ ...placeOf(chunk), score: scores[at] ?? 0 }] : [],
  );
  return { rows: rows.toSorted(byScore).slice(0, limit), chunkCount, documentFrequencies };
}

function wordsOf(chunk: ListedChunk): Words {
  const known = counted.get(chunk);
  if (known) return known;
  const counts = new Map<string, number>();
  let length = 0;
  for (const word of (chunk.terms ?? "").split(gaps)) {
    if (word === "") continue;
    counts.set(word, (counts.get(word) ?? 0) + 1);
    length++;
  }
  const words = { counts, length };
  counted.set(chunk, words);
  return words;
}

function countOf(term: QueryTerm, counts: ReadonlyMap<string, number>): number {
  if (!term.prefix) return counts.get(term.term) ?? 0;
  let count = 0;
  for (const [word, times] of counts) if (word.startsWith(term.term)) count += times;
  return count;
}
