import { bm25Within, type CountedText, type KeywordAnswer, type KeywordQuery, type QueryTerm } from "@memslot/indexing";
import { oneOf } from "../lance/filter.ts";
import { allRows } from "../lance/rows.ts";
import {
  chunkOf,
  type ListedChunk,
  type Listing,
  placeOf,
  type Scope,
  scopeOf,
} from "../tables/cached-file-listing.ts";
import { type Counted, gaps, isSearchable, presentTerms, TermCounts, withWords, wordsWith } from "./term-counts.ts";
import { byScore } from "./vector-search.ts";

/** Chunks of a scope whose words are read to score them. Of more, those with most of the rarer terms. */
const scoredAtMost = 2000;

interface Words {
  counts: ReadonlyMap<string, number>;
  length: number;
}

const wordsOfChunk = new WeakMap<ListedChunk, Words>();
const none: ReadonlyMap<number, number> = new Map();

export function searchWords({ terms, limit, ...filter }: KeywordQuery, listing: Listing): KeywordAnswer {
  const scope = scopeOf(filter, listing);
  const matching: (CountedText & { chunk: ListedChunk })[] = [];
  const others: CountedText[] = [];
  const documentFrequencies = terms.map(() => 0);
  for (const { chunks } of filter.scope ? scope.files : listing.files.values())
    for (const chunk of chunks) {
      const words = wordsOfChunk.get(chunk) ?? wordsIn(chunk.terms ?? "");
      wordsOfChunk.set(chunk, words);
      const counts = countsIn(words, terms);
      for (const index of counts.keys()) documentFrequencies[index] = (documentFrequencies[index] ?? 0) + 1;
      if (counts.size > 0) matching.push({ chunk, counts, length: words.length });
      else others.push({ counts, length: words.length });
    }
  const chunkCount = matching.length + others.length;
  // The average length is that of all chunks, and in a scope that of the matching chunks.
  const scores = bm25Within(filter.scope ? matching : [...matching, ...others], { chunkCount, documentFrequencies });
  const rows = matching.flatMap(({ chunk }, at) =>
    scope.has(chunk) ? [{ ...placeOf(chunk), score: scores[at] ?? 0 }] : [],
  );
  return { rows: rows.toSorted(byScore).slice(0, limit), chunkCount, documentFrequencies };
}

function wordsIn(terms: string): Words {
  const counts = new Map<string, number>();
  const words = terms.split(gaps).filter((word) => word !== "");
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return { counts, length: words.length };
}

function countsIn({ counts }: Words, terms: readonly QueryTerm[]): ReadonlyMap<number, number> {
  let found: Map<number, number> | undefined;
  for (const [index, term] of terms.entries()) {
    let count = 0;
    if (!isSearchable(term)) continue;
    if (term.prefix) {
      for (const [word, times] of counts) if (word.startsWith(term.term)) count += times;
    } else count = counts.get(term.term) ?? 0;
    if (count > 0) (found ??= new Map()).set(index, count);
  }
  return found ?? none;
}

/** Keyword search with the index of words of LanceDB. Rows that are not indexed yet are scanned. */
export async function searchKeywords(
  query: KeywordQuery,
  build: Counted,
  listing: Listing,
  counts: TermCounts,
): Promise<KeywordAnswer> {
  const { terms, limit } = query;
  const { table, chunkCount } = build;
  const scope = scopeOf(query, listing);
  if (query.scope) return await searchScope(query, build, scope);
  const present = chunkCount === 0 ? () => false : await presentTerms(terms, table);
  const counted = await Promise.all(
    terms.map((term) => (present(term) ? counts.count(term, build) : { chunks: 0, words: [] })),
  );
  const documentFrequencies = counted.map(({ chunks }) => chunks);
  const words = new Set(counted.flatMap((count) => (count.chunks > 0 ? count.words : [])));
  if (words.size === 0 || scope.files.length === 0) return { rows: [], chunkCount, documentFrequencies };
  const found = withWords(table, words, scope.filter).select(["row", "_score"]).limit(limit);
  const rows = (await allRows<{ row: string; _score: number }>(found)).flatMap(({ row, _score }) => {
    const chunk = chunkOf(row);
    return chunk ? [{ ...chunk, score: _score }] : [];
  });
  return { rows: rows.toSorted(byScore), chunkCount, documentFrequencies };
}

/** The same within a scope. LanceDB scores with counts of the whole index, so it only says which chunks have a term. */
async function searchScope(
  { terms, limit }: KeywordQuery,
  { table }: Counted,
  { chunkCount, filter }: Scope,
): Promise<KeywordAnswer> {
  const present = chunkCount === 0 ? () => false : await presentTerms(terms, table, filter);
  const matching = await Promise.all(
    terms.map(async (term) => {
      if (!isSearchable(term) || !present(term)) return [];
      const words = term.prefix ? await wordsWith(term.term, table, { filter }) : [term.term];
      if (words.length === 0) return [];
      const found = withWords(table, words, filter).select(["id", "_score"]).limit(chunkCount);
      return [...new Set((await allRows<{ id: string }>(found)).map(({ id }) => id))];
    }),
  );
  const documentFrequencies = matching.map(({ length }) => length);
  const weights = new Map<string, number>();
  for (const ids of matching) for (const id of ids) weights.set(id, (weights.get(id) ?? 0) + 1 / ids.length);
  // An id does not depend on chunks outside the scope either.
  const heaviest = [...weights].toSorted((left, right) => right[1] - left[1] || (left[0] < right[0] ? -1 : 1));
  const ids = heaviest.slice(0, Math.max(scoredAtMost, limit)).map(([id]) => id);
  if (ids.length === 0) return { rows: [], chunkCount, documentFrequencies };
  const query = table.query().where(oneOf("id", ids)).select(["row", "terms"]);
  const texts = (await allRows<{ row: string; terms: string }>(query)).flatMap(({ row, terms: own }) => {
    const [chunk, words] = [chunkOf(row), wordsIn(own)];
    return chunk ? [{ chunk, counts: countsIn(words, terms), length: words.length }] : [];
  });
  const scores = bm25Within(texts, { chunkCount, documentFrequencies });
  const rows = texts.map(({ chunk }, at) => ({ ...chunk, score: scores[at] ?? 0 }));
  return { rows: rows.toSorted(byScore).slice(0, limit), chunkCount, documentFrequencies };
}
