import { type KeywordAnswer, type KeywordQuery, type QueryTerm, bm25Within } from "@memslot/indexing";
import { allRows } from "../lance/arrow-rows.ts";
import { oneOf } from "../lance/filter.ts";
import { chunkOf, type Listing } from "../tables/listing.ts";
import { type Asked, askedOf } from "./asked.ts";
import { canStandInTerms, type Counted, holding, standing, type TermCounts, wordsWith } from "./term-counts.ts";
import { byScore } from "./vector-search.ts";

/** Chunks of a scope whose words are read to weigh them. Of more, those that hold most of the rarer terms. */
const weighedAtMost = 2000;

/** Keyword search with LanceDB's own index of words. Rows that are not in the index yet are looked at one by one. */
export async function searchKeywords(
  query: KeywordQuery,
  build: Counted,
  listing: Listing,
  counts: TermCounts,
): Promise<KeywordAnswer> {
  const { terms, limit } = query;
  const { table, chunkCount } = build;
  const asked = askedOf(query, listing);
  if (query.scope) return await searchScope(query, build, asked);
  if (chunkCount === 0) return { rows: [], chunkCount, documentFrequencies: terms.map(() => 0) };
  const mayStand = await standing(terms, table);
  const counted = await Promise.all(
    terms.map((term) => (mayStand(term) ? counts.count(term, build) : { chunks: 0, words: [] })),
  );
  const documentFrequencies = counted.map(({ chunks }) => chunks);
  const words = new Set(counted.flatMap((count) => (count.chunks > 0 ? count.words : [])));
  if (words.size === 0 || asked.files.length === 0) return { rows: [], chunkCount, documentFrequencies };
  const found = holding(table, words, asked.filter).select(["row", "_score"]).limit(limit);
  const rows = (await allRows<{ row: string; _score: number }>(found)).flatMap(({ row, _score }) => {
    const chunk = chunkOf(row);
    return chunk ? [{ ...chunk, score: _score }] : [];
  });
  return { rows: rows.toSorted(byScore), chunkCount, documentFrequencies };
}

/**
 * Within a scope. LanceDB's own scores are made of the counts of the whole index, so it is asked only which chunks hold
 * a word: what is counted, weighed and cut is the scope alone.
 */
async function searchScope(
  { terms, limit }: KeywordQuery,
  { table }: Counted,
  { chunkCount, filter }: Asked,
): Promise<KeywordAnswer> {
  if (chunkCount === 0) return { rows: [], chunkCount, documentFrequencies: terms.map(() => 0) };
  const mayStand = await standing(terms, table, filter);
  const holders = await Promise.all(
    terms.map(async (term) => {
      if (!canStandInTerms(term) || !mayStand(term)) return new Set<string>();
      const words = term.prefix ? await wordsWith(term.term, table, { filter }) : [term.term];
      if (words.length === 0) return new Set<string>();
      const found = holding(table, words, filter).select(["id", "_score"]).limit(chunkCount);
      return new Set((await allRows<{ id: string }>(found)).map(({ id }) => id));
    }),
  );
  const documentFrequencies = holders.map(({ size }) => size);
  const weights = new Map<string, number>();
  for (const [index, own] of holders.entries())
    for (const id of own) weights.set(id, (weights.get(id) ?? 0) + 1 / (documentFrequencies[index] ?? 1));
  // What a chunk is named for does not depend on what stands outside, either.
  const heaviest = [...weights].toSorted((left, right) => right[1] - left[1] || (left[0] < right[0] ? -1 : 1));
  const ids = heaviest.slice(0, Math.max(weighedAtMost, limit)).map(([id]) => id);
  if (ids.length === 0) return { rows: [], chunkCount, documentFrequencies };
  const texts = await allRows<{ row: string; terms: string }>(
    table.query().where(oneOf("id", ids)).select(["row", "terms"]),
  );
  const counted = texts.map((text) => {
    const words = text.terms.split(" ").filter((word) => word !== "");
    const ofTerms = terms.map((term, index): [number, number] => [index, countOf(term, words)]);
    return { counts: new Map(ofTerms), length: words.length };
  });
  const scores = bm25Within(counted, { chunkCount, documentFrequencies });
  const rows = texts.flatMap(({ row }, at) => {
    const chunk = chunkOf(row);
    return chunk ? [{ ...chunk, score: scores[at] ?? 0 }] : [];
  });
  return { rows: rows.toSorted(byScore).slice(0, limit), chunkCount, documentFrequencies };
}

function countOf(term: QueryTerm, words: readonly string[]): number {
  return words.filter((word) => (term.prefix ? word.startsWith(term.term) : word === term.term)).length;
}
