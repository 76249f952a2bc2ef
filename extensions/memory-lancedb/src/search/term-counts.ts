import { MatchQuery, Operator, type Query, type Table } from "@lancedb/lancedb";
import type { QueryTerm } from "@memslot/indexing";
import { allRows } from "../lance/arrow-rows.ts";
import { allOf, type Filter, holds } from "../lance/filter.ts";

/** Terms whose counts are remembered. */
const keptTerms = 4000;
/**
 * From so many chunks on a count may be a little wrong: it weighs words against each other, and an index of this size
 * does not change by much. Below, every count is exact.
 */
const roughFrom = 5000;
/** How much the index may change, as a share of its chunks, before what was counted is counted again. */
const roughShare = 0.02;
/** Chunks that are counted one by one, in a large index. For a word that stands in more, a sample tells how many. */
const countedAtMost = 8192;
/** Chunks whose words are looked at for that. A share of 4 % is told right to about half a percent. */
const sampled = 1000;
/** Chunks that are read for the words that begin with something, and words that are searched for in its place. */
const chunksRead = 1000;
const wordsAsked = 200;

/** What LanceDB splits words at. No term holds any of it; one that does is in no chunk. */
export const gaps: RegExp = /[\t-\r\u0085\p{Z}]/u;

/** How many chunks hold a term, and the words that it stands for: itself, or those that begin with it. */
export interface TermCount {
  chunks: number;
  words: readonly string[];
}

/** What one build of the index is at the moment of the count. */
export interface Counted {
  table: Table;
  name: string;
  version: number;
  chunkCount: number;
}

/** LanceDB tells no document frequencies: they are counted, and remembered. */
export class TermCounts {
  readonly #kept = new Map<string, Counted & { count: TermCount }>();
  #sample: (Counted & { texts: Promise<readonly ReadonlySet<string>[]> }) | undefined;

  async count(term: QueryTerm, build: Counted): Promise<TermCount> {
    if (!canStandInTerms(term)) return { chunks: 0, words: [] };
    const key = `${term.prefix ? "*" : "="}${term.term}`;
    const known = this.#kept.get(key);
    if (known && isStillRight(known, build)) return known.count;
    const count = term.prefix ? await countBeginnings(term.term, build) : await this.#countWord(term.term, build);
    this.#kept.delete(key);
    this.#kept.set(key, { ...build, count });
    for (const old of this.#kept.keys()) if (this.#kept.size > keptTerms) this.#kept.delete(old);
    return count;
  }

  async #countWord(word: string, build: Counted): Promise<TermCount> {
    const { table, chunkCount } = build;
    const words = [word];
    if (chunkCount < roughFrom) return { chunks: await matches(table, word, chunkCount, false), words };
    // Rows that are not in the index of the words yet are looked at one by one, which takes longer than all the others.
    const indexed = await matches(table, word, countedAtMost, true);
    const chunks = indexed > 0 ? indexed : await matches(table, word, countedAtMost, false);
    if (chunks < countedAtMost) return { chunks, words };
    return { chunks: Math.max(chunks, Math.round((await this.#share(word, build)) * chunkCount)), words };
  }

  /** The share of the chunks that hold a word, 0 to 1, from some of them. For words that many hold. */
  async #share(word: string, build: Counted): Promise<number> {
    if (this.#sample?.name !== build.name || !isAboutAsLarge(this.#sample, build)) {
      const texts = readSample(build.table);
      this.#sample = { ...build, texts };
      // One that failed is not kept.
      texts.catch(() => (this.#sample = undefined));
    }
    const texts = (await this.#sample?.texts) ?? [];
    return texts.length === 0 ? 0 : texts.filter((words) => words.has(word)).length / texts.length;
  }
}

export function canStandInTerms({ term }: QueryTerm): boolean {
  return term !== "" && !gaps.test(term);
}

/** Chunks that hold at least one of these words. */
export function holding(table: Table, words: Iterable<string>, filter: Filter | undefined): Query {
  const match = new MatchQuery([...words].join(" "), "terms", { operator: Operator.Or });
  const search = table.query().fullTextSearch(match);
  return filter === undefined ? search : search.where(filter);
}

/** Terms that are asked for one by one. Of more, most stand nowhere. */
const oneByOne = 8;
/** Chunks that are read for the terms that they hold, and how often that is done. */
const chunksAsked = 100;
const roundsAtMost = 24;

/**
 * The terms that may stand in a chunk: of many, which is what a word is looked for with that is written otherwise, those
 * that stand nowhere are found out together. A search for any of them gives chunks that hold some, until none is left.
 */
export async function standing(
  terms: readonly QueryTerm[],
  table: Table,
  filter?: Filter | undefined,
): Promise<(term: QueryTerm) => boolean> {
  if (terms.length <= oneByOne) return () => true;
  const left = new Set(terms.filter((term) => !term.prefix && canStandInTerms(term)).map(({ term }) => term));
  const found = new Set<string>();
  for (let round = 0; left.size > 0 && round < roundsAtMost; round++) {
    const rows = await allRows<{ terms: string }>(holding(table, left, filter).select(["terms"]).limit(chunksAsked));
    for (const { terms: held } of rows) for (const word of held.split(" ")) if (left.delete(word)) found.add(word);
    if (rows.length < chunksAsked) return (term) => term.prefix || found.has(term.term);
  }
  return (term) => term.prefix || found.has(term.term) || left.has(term.term);
}

/** LanceDB searches for no beginnings of words: the chunks that hold one are asked for the words themselves. */
export async function wordsWith(
  beginning: string,
  table: Table,
  { filter, chunks }: { filter?: Filter | undefined; chunks?: number | undefined },
): Promise<string[]> {
  const where = allOf(...(filter === undefined ? [] : [filter]), holds("terms", ` ${beginning}`));
  const query = table.query().where(where).select(["terms"]);
  const words = new Set<string>();
  for (const { terms } of await allRows<{ terms: string }>(chunks === undefined ? query : query.limit(chunks)))
    for (const word of terms.split(" ")) if (word.startsWith(beginning)) words.add(word);
  return [...words].toSorted().slice(0, wordsAsked);
}

function isStillRight({ name, version, chunkCount, count }: Counted & { count: TermCount }, build: Counted): boolean {
  if (name !== build.name) return false;
  if (version === build.version) return true;
  // A word that stood nowhere may be the one that was just written.
  return count.chunks > 0 && chunkCount >= roughFrom && isAboutAsLarge({ chunkCount }, build);
}

function isAboutAsLarge({ chunkCount }: { chunkCount: number }, build: Counted): boolean {
  return Math.abs(build.chunkCount - chunkCount) <= chunkCount * roughShare;
}

async function matches(table: Table, word: string, limit: number, indexedOnly: boolean): Promise<number> {
  // The score alone, as it comes from the index: a column would be read for each of them.
  const query = holding(table, [word], undefined).select(["_score"]).limit(limit);
  let chunks = 0;
  for await (const batch of indexedOnly ? query.fastSearch() : query) chunks += batch.numRows;
  return chunks;
}

async function countBeginnings(beginning: string, { table }: Counted): Promise<TermCount> {
  const [chunks, words] = await Promise.all([
    table.countRows(holds("terms", ` ${beginning}`)),
    wordsWith(beginning, table, { chunks: chunksRead }),
  ]);
  return { chunks, words };
}

/** From places that are equally far from each other: neighbours are of one file. */
async function readSample(table: Table): Promise<ReadonlySet<string>[]> {
  const rows = await table.countRows();
  const step = Math.max(1, Math.floor(rows / sampled));
  const offsets = Array.from({ length: Math.min(sampled, rows) }, (_, index) => index * step);
  // A file has a row of its own, without words.
  const texts = await allRows<{ terms: string | null }>(table.takeOffsets(offsets).select(["terms"]));
  return texts.flatMap(({ terms }) => (terms === null ? [] : [new Set(terms.split(" "))]));
}
