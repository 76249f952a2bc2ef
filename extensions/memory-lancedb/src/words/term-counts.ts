import { MatchQuery, type Table } from "@lancedb/lancedb";
import type { QueryTerm } from "@memslot/indexing";
import { allRows } from "../tables/arrow-rows.ts";
import { holds } from "../tables/filter.ts";
import { createTermSample, type TermSample } from "./term-sample.ts";

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
const countedAtMost = 4096;
/** Chunks that are read for the words that begin with something, and words that are searched for in its place. */
const chunksRead = 1000;
const wordsAsked = 200;

/** How many chunks hold a term, and the words that it stands for: itself, or those that begin with it. */
export interface TermCount {
  chunks: number;
  words: readonly string[];
}

/** What one build of the index is at the moment of the count. */
interface Counted {
  table: Table;
  generation: number;
  version: number;
  chunkCount: number;
}

/** LanceDB tells no document frequencies: they are counted, and remembered. */
export interface TermCounts {
  count(term: QueryTerm, build: Counted): Promise<TermCount>;
}

interface Kept {
  generation: number;
  version: number;
  chunkCount: number;
  count: TermCount;
}

export function createTermCounts(): TermCounts {
  const kept = new Map<string, Kept>();
  const sample = createTermSample(roughShare);

  return {
    async count(term, build) {
      const key = `${term.prefix ? "*" : "="}${term.term}`;
      const known = kept.get(key);
      if (known && isStillRight(known, build)) return known.count;
      const count = await (term.prefix ? countBeginnings(term.term, build) : countWord(term.term, build, sample));
      const { generation, version, chunkCount } = build;
      kept.delete(key);
      kept.set(key, { generation, version, chunkCount, count });
      for (const old of kept.keys()) if (kept.size > keptTerms) kept.delete(old);
      return count;
    },
  };
}

function isStillRight({ generation, version, chunkCount, count }: Kept, build: Counted): boolean {
  if (generation !== build.generation) return false;
  if (version === build.version) return true;
  // A word that stood nowhere may be the one that was just written.
  return (
    count.chunks > 0 && chunkCount >= roughFrom && Math.abs(build.chunkCount - chunkCount) <= chunkCount * roughShare
  );
}

async function countWord(word: string, build: Counted, sample: TermSample): Promise<TermCount> {
  const { table, chunkCount } = build;
  const words = [word];
  if (chunkCount < roughFrom) return { chunks: await matches(table, word, chunkCount, false), words };
  // Rows that are not in the index of the words yet are looked at one by one, which takes longer than all the others.
  const indexed = await matches(table, word, countedAtMost, true);
  const chunks = indexed > 0 ? indexed : await matches(table, word, countedAtMost, false);
  if (chunks < countedAtMost) return { chunks, words };
  return { chunks: Math.max(chunks, Math.round((await sample.share(word, build)) * chunkCount)), words };
}

async function matches(table: Table, word: string, limit: number, indexedOnly: boolean): Promise<number> {
  // The score alone, as it comes from the index: a column would be read for each of them.
  const query = table.query().fullTextSearch(new MatchQuery(word, "terms")).select(["_score"]).limit(limit);
  let chunks = 0;
  for await (const batch of indexedOnly ? query.fastSearch() : query) chunks += batch.numRows;
  return chunks;
}

/** LanceDB searches for no beginnings of words: the chunks that hold one are asked for the words themselves. */
async function countBeginnings(beginning: string, { table }: Counted): Promise<TermCount> {
  const filter = holds("terms", ` ${beginning}`);
  const [chunks, rows] = await Promise.all([
    table.countRows(filter),
    allRows<{ terms: string }>(table.query().where(filter).select(["terms"]).limit(chunksRead)),
  ]);
  const words = new Set<string>();
  for (const { terms } of rows) {
    for (const word of terms.split(" ")) if (word.startsWith(beginning)) words.add(word);
  }
  return { chunks, words: [...words].slice(0, wordsAsked) };
}
