import { MatchQuery, Operator, type Table } from "@lancedb/lancedb";
import type { ChunkRow, IndexKeywordAnswer, KeywordQuery, QueryTerm } from "@memslot/indexing";
import { bm25Within, worthAsking } from "@memslot/memory-core";
import { allRows } from "../tables/arrow-rows.ts";
import type { ChunkListing, ListedChunk } from "../tables/chunk-listing.ts";
import { allOf, type Filter, holds, oneOf } from "../tables/filter.ts";
import { askedRows, isAsked } from "./path-scope.ts";

/** Words that are searched for in place of one that is the beginning of them. */
const wordsAsked = 200;
/** Chunks whose words are read to weigh them. Of more, those that hold most of the rarer terms. */
const weighedAtMost = 2000;

/**
 * Keyword search within a scope. LanceDB's own scores are made of the counts of the whole index, so it is asked only
 * which chunks hold a word: what is counted, weighed and cut is the scope alone.
 */
export async function searchScope(
  query: KeywordQuery,
  {
    table,
    listing,
    canStandInTerms,
  }: { table: Table; listing: ChunkListing; canStandInTerms: (term: QueryTerm) => boolean },
): Promise<IndexKeywordAnswer> {
  const places = chunksIn(query, listing);
  const chunkCount = places.size;
  const asked = askedRows(query, listing);
  if (chunkCount === 0 || !asked) return { rows: [], chunkCount: 0, documentFrequencies: query.terms.map(() => 0) };
  const holders = await Promise.all(
    query.terms.map(async (term) =>
      canStandInTerms(term) ? await chunksWith(term, { table, filter: asked.filter, places }) : new Set<number>(),
    ),
  );
  const documentFrequencies = holders.map(({ size }) => size);
  const worth = worthAsking([...holders.keys()], (index) => documentFrequencies[index] ?? 0, chunkCount);
  const found = mostHeld(worth.map((index) => holders[index] ?? new Set()));
  const texts = await readTexts(
    table,
    found
      .toSorted(byPlace)
      .slice(0, weighedAtMost)
      .map(({ id }) => id),
  );

  function byPlace(left: { id: number; weight: number }, right: { id: number; weight: number }): number {
    return right.weight - left.weight || placeOf(left.id) - placeOf(right.id);
  }
  function placeOf(id: number): number {
    return places.get(id)?.place ?? 0;
  }
  function mostHeld(sets: readonly ReadonlySet<number>[]): { id: number; weight: number }[] {
    const weights = new Map<number, number>();
    for (const set of sets) for (const id of set) weights.set(id, (weights.get(id) ?? 0) + 1 / set.size);
    return [...weights].map(([id, weight]) => ({ id, weight }));
  }

  const counted = texts.map(({ terms }) => {
    const words = terms.split(" ").filter((word) => word !== "");
    const counts = worth.map((index): [number, number] => [index, countOf(query.terms[index], words)]);
    return { counts: new Map(counts), length: words.length };
  });
  const scores = bm25Within(counted, { chunkCount, documentFrequencies });
  const ranked = texts.flatMap(({ id, text, context }, at) => {
    const chunk = places.get(id)?.chunk;
    return chunk ? [{ ...rowOf(chunk, text, context), score: scores[at] ?? 0 }] : [];
  });
  const best = ranked.toSorted((left, right) => right.score - left.score || placeOf(left.id) - placeOf(right.id));
  return { rows: best.slice(0, query.limit), chunkCount, documentFrequencies };
}

/** The chunks of the scope, each with its place in the order of paths, sources and lines. */
function chunksIn(query: KeywordQuery, { files }: ChunkListing): Map<number, { chunk: ListedChunk; place: number }> {
  const chunks = [...files.values()].filter((file) => isAsked(file, query)).flatMap((file) => file.chunks);
  const ordered = chunks.toSorted(byLine);
  return new Map(ordered.map((chunk, place) => [chunk.id, { chunk, place }]));
}

function byLine(left: ListedChunk, right: ListedChunk): number {
  if (left.path !== right.path) return left.path < right.path ? -1 : 1;
  if (left.source !== right.source) return left.source < right.source ? -1 : 1;
  return left.startLine - right.startLine || left.endLine - right.endLine || left.id - right.id;
}

/** Which chunks of the scope hold a term. */
async function chunksWith(
  { term, prefix }: QueryTerm,
  { table, filter, places }: { table: Table; filter: Filter | undefined; places: ReadonlyMap<number, unknown> },
): Promise<Set<number>> {
  const words = prefix ? await wordsWith(term, table, filter) : [term];
  if (words.length === 0) return new Set();
  const match = new MatchQuery(words.join(" "), "terms", { operator: Operator.Or });
  const search = table.query().fullTextSearch(match).select(["id"]).limit(places.size);
  const rows = await allRows<{ id: number }>(filter === undefined ? search : search.where(filter));
  return new Set(rows.map(({ id }) => id).filter((id) => places.has(id)));
}

/** The words of the scope that begin so: LanceDB searches for no beginnings, so the chunks that hold one are read. */
async function wordsWith(beginning: string, table: Table, filter: Filter | undefined): Promise<string[]> {
  const holding = holds("terms", ` ${beginning}`);
  const query = table.query().where(filter === undefined ? holding : allOf(filter, holding));
  const words = new Set<string>();
  for (const { terms } of await allRows<{ terms: string }>(query.select(["terms"])))
    for (const word of terms.split(" ")) if (word.startsWith(beginning)) words.add(word);
  return [...words].toSorted().slice(0, wordsAsked);
}

interface ReadText {
  id: number;
  text: string;
  context: string;
  terms: string;
}

async function readTexts(table: Table, ids: readonly number[]): Promise<ReadText[]> {
  if (ids.length === 0) return [];
  const query = table.query().where(oneOf("id", ids)).select(["id", "text", "context", "terms"]);
  return await allRows<ReadText>(query);
}

function countOf(term: QueryTerm | undefined, words: readonly string[]): number {
  if (!term) return 0;
  return words.filter((word) => (term.prefix ? word.startsWith(term.term) : word === term.term)).length;
}

function rowOf(
  { id, path, source, startLine, endLine }: ListedChunk,
  text: string,
  context: string,
): ChunkRow & { id: number } {
  return { id, path, source, startLine, endLine, text, context };
}
