import { MatchQuery, Operator, type Query, type Table } from "@lancedb/lancedb";
import type { QueryTerm } from "@memslot/indexing";
import { allOf, type Filter, holds } from "../lance/filter.ts";
import { allRows } from "../lance/rows.ts";

const keptTerms = 4000;
/** From this many chunks on, a count may be slightly old: it only weighs terms against each other. */
const roughFrom = 5000;
/** How much the index may change, as a share of its chunks, before counts are made again. */
const roughShare = 0.02;
/** Chunks that are read for the words with a prefix, and such words that are searched for. */
const chunksRead = 1000;
const wordsAtMost = 200;

/** Where LanceDB splits words. A term with any of it is in no chunk. */
export const gaps: RegExp = /[\t-\r\u0085\p{Z}]/u;

interface TermCount {
  chunks: number;
  words: readonly string[];
}

export interface Counted {
  table: Table;
  name: string;
  version: number;
  chunkCount: number;
}

/** Document frequencies, which LanceDB does not report: terms are counted, and the counts kept. */
export class TermCounts {
  readonly #kept = new Map<string, Counted & { count: TermCount }>();

  async count(term: QueryTerm, build: Counted): Promise<TermCount> {
    if (!isSearchable(term)) return { chunks: 0, words: [] };
    const key = `${term.prefix ? "*" : "="}${term.term}`;
    const known = this.#kept.get(key);
    if (known && isStillRight(known, build)) return known.count;
    const count = term.prefix ? await countPrefix(term.term, build) : await countWord(term.term, build);
    this.#kept.delete(key);
    this.#kept.set(key, { ...build, count });
    for (const old of this.#kept.keys()) if (this.#kept.size > keptTerms) this.#kept.delete(old);
    return count;
  }
}

export function isSearchable({ term }: QueryTerm): boolean {
  return term !== "" && !gaps.test(term);
}

export function withWords(table: Table, words: Iterable<string>, filter?: Filter): Query {
  const match = new MatchQuery([...words].join(" "), "terms", { operator: Operator.Or });
  const search = table.query().fullTextSearch(match);
  return filter === undefined ? search : search.where(filter);
}

const oneByOne = 8;
const chunksPerRound = 100;
const roundsAtMost = 24;

/** Which terms may be in a chunk. Corrections of a word are many terms, most in none: they are searched for together. */
export async function presentTerms(
  terms: readonly QueryTerm[],
  table: Table,
  filter?: Filter,
): Promise<(term: QueryTerm) => boolean> {
  if (terms.length <= oneByOne) return () => true;
  const left = new Set(terms.filter((term) => !term.prefix && isSearchable(term)).map(({ term }) => term));
  const found = new Set<string>();
  for (let round = 0; left.size > 0 && round < roundsAtMost; round++) {
    const query = withWords(table, left, filter).select(["terms"]).limit(chunksPerRound);
    const rows = await allRows<{ terms: string }>(query);
    for (const { terms: own } of rows) for (const word of own.split(" ")) if (left.delete(word)) found.add(word);
    if (rows.length < chunksPerRound) left.clear();
  }
  return (term) => term.prefix || found.has(term.term) || left.has(term.term);
}

export async function wordsWith(
  prefix: string,
  table: Table,
  { filter, chunks }: { filter?: Filter | undefined; chunks?: number },
): Promise<string[]> {
  const where = allOf(...(filter === undefined ? [] : [filter]), holds("terms", ` ${prefix}`));
  const query = table.query().where(where).select(["terms"]);
  const words = new Set<string>();
  for (const { terms } of await allRows<{ terms: string }>(chunks === undefined ? query : query.limit(chunks)))
    for (const word of terms.split(" ")) if (word.startsWith(prefix)) words.add(word);
  return [...words].toSorted().slice(0, wordsAtMost);
}

function isStillRight({ name, version, chunkCount, count }: Counted & { count: TermCount }, build: Counted): boolean {
  if (name !== build.name || version === build.version) return name === build.name;
  const isSimilar = Math.abs(build.chunkCount - chunkCount) <= chunkCount * roughShare;
  // A word that no chunk had may be in one that was just written.
  return count.chunks > 0 && chunkCount >= roughFrom && isSimilar;
}

async function countWord(word: string, { table, chunkCount }: Counted): Promise<TermCount> {
  let chunks = 0;
  // The score alone comes from the index: a column would be read for each row.
  for await (const batch of withWords(table, [word]).select(["_score"]).limit(chunkCount)) chunks += batch.numRows;
  return { chunks, words: [word] };
}

async function countPrefix(prefix: string, { table }: Counted): Promise<TermCount> {
  const [chunks, words] = await Promise.all([
    table.countRows(holds("terms", ` ${prefix}`)),
    wordsWith(prefix, table, { chunks: chunksRead }),
  ]);
  return { chunks, words };
}
