import { MatchQuery, Operator, type Query, type Table } from "@lancedb/lancedb";
import type { QueryTerm } from "@memslot/indexing";
import { allOf, type Filter, holds } from "../lance/filter.ts";
import { allRows } from "../lance/rows.ts";

/** Terms whose counts are kept. */
const keptTerms = 4000;
/** From this many chunks on, a count may be slightly wrong: it only weighs terms against each other. Below, it is exact. */
const roughFrom = 5000;
/** How much the index may change, as a share of its chunks, before counts are made again. */
const roughShare = 0.02;
/** In a large index a term is counted up to this many chunks. Beyond, a sample gives the count. */
const countedAtMost = 8192;
/** Chunks in the sample: it estimates a share of 4 % to about half a percent. */
const sampled = 1000;
/** Chunks that are read for the words with a prefix, and such words that are searched for. */
const chunksRead = 1000;
const wordsAtMost = 200;

/** Where LanceDB splits words. A term with any of it is in no chunk. */
export const gaps: RegExp = /[\t-\r\u0085\p{Z}]/u;

/** How many chunks have a term, and the words that it stands for: itself, or those with the prefix. */
export interface TermCount {
  chunks: number;
  words: readonly string[];
}

/** A build at the moment of the count. */
export interface Counted {
  table: Table;
  name: string;
  version: number;
  chunkCount: number;
}

/** Document frequencies, which LanceDB does not report: terms are counted, and the counts kept. */
export class TermCounts {
  readonly #kept = new Map<string, Counted & { count: TermCount }>();
  #sample: (Counted & { texts: Promise<readonly ReadonlySet<string>[]> }) | undefined;

  async count(term: QueryTerm, build: Counted): Promise<TermCount> {
    if (!isSearchable(term)) return { chunks: 0, words: [] };
    const key = `${term.prefix ? "*" : "="}${term.term}`;
    const known = this.#kept.get(key);
    if (known && isStillRight(known, build)) return known.count;
    const count = term.prefix ? await countPrefix(term.term, build) : await this.#countWord(term.term, build);
    this.#kept.delete(key);
    this.#kept.set(key, { ...build, count });
    for (const old of this.#kept.keys()) if (this.#kept.size > keptTerms) this.#kept.delete(old);
    return count;
  }

  async #countWord(word: string, build: Counted): Promise<TermCount> {
    const { table, chunkCount } = build;
    const words = [word];
    if (chunkCount < roughFrom) return { chunks: await matches(table, word, chunkCount, false), words };
    // Scanning the rows that are not indexed yet takes longer than the index.
    const indexed = await matches(table, word, countedAtMost, true);
    const chunks = indexed > 0 ? indexed : await matches(table, word, countedAtMost, false);
    if (chunks < countedAtMost) return { chunks, words };
    return { chunks: Math.max(chunks, Math.round((await this.#share(word, build)) * chunkCount)), words };
  }

  /** The share of the chunks that have a frequent word, 0 to 1, from a sample. */
  async #share(word: string, build: Counted): Promise<number> {
    if (this.#sample?.name !== build.name || !isSimilarSize(this.#sample, build)) {
      const texts = readSample(build.table);
      this.#sample = { ...build, texts };
      texts.catch(() => (this.#sample = undefined));
    }
    const texts = (await this.#sample?.texts) ?? [];
    return texts.length === 0 ? 0 : texts.filter((words) => words.has(word)).length / texts.length;
  }
}

export function isSearchable({ term }: QueryTerm): boolean {
  return term !== "" && !gaps.test(term);
}

/** A search for chunks with at least one of these words. */
export function withWords(table: Table, words: Iterable<string>, filter?: Filter): Query {
  const match = new MatchQuery([...words].join(" "), "terms", { operator: Operator.Or });
  const search = table.query().fullTextSearch(match);
  return filter === undefined ? search : search.where(filter);
}

/** Terms that are counted without asking first whether they are there. */
const oneByOne = 8;
/** Chunks that are read for their terms, and how often. */
const chunksPerRound = 100;
const roundsAtMost = 24;

/**
 * Which terms may be in a chunk. Corrections of a word are many terms, most of which are in none: they are searched for
 * together, until every chunk found has only known ones.
 */
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

/** The words with a prefix, which LanceDB does not search for: they are read from the chunks. */
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

function isStillRight(known: Counted & { count: TermCount }, build: Counted): boolean {
  if (known.name !== build.name || known.version === build.version) return known.name === build.name;
  // A word that no chunk had may be in one that was just written.
  return known.count.chunks > 0 && known.chunkCount >= roughFrom && isSimilarSize(known, build);
}

function isSimilarSize({ chunkCount }: Counted, build: Counted): boolean {
  return Math.abs(build.chunkCount - chunkCount) <= chunkCount * roughShare;
}

async function matches(table: Table, word: string, limit: number, indexedOnly: boolean): Promise<number> {
  // The score alone comes from the index: a column would be read for each row.
  const query = withWords(table, [word]).select(["_score"]).limit(limit);
  let chunks = 0;
  for await (const batch of indexedOnly ? query.fastSearch() : query) chunks += batch.numRows;
  return chunks;
}

async function countPrefix(prefix: string, { table }: Counted): Promise<TermCount> {
  const [chunks, words] = await Promise.all([
    table.countRows(holds("terms", ` ${prefix}`)),
    wordsWith(prefix, table, { chunks: chunksRead }),
  ]);
  return { chunks, words };
}

/** Rows at equal distances: neighbours are of one file. */
async function readSample(table: Table): Promise<ReadonlySet<string>[]> {
  const rows = await table.countRows();
  const step = Math.max(1, Math.floor(rows / sampled));
  const offsets = Array.from({ length: Math.min(sampled, rows) }, (_, index) => index * step);
  const texts = await allRows<{ terms: string | null }>(table.takeOffsets(offsets).select(["terms"]));
  // The row of a file has no words.
  return texts.flatMap(({ terms }) => (terms === null ? [] : [new Set(terms.split(" "))]));
}
