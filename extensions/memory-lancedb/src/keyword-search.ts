import { MatchQuery, Operator } from "@lancedb/lancedb";
import type { ChunkRow, ChunkStore, QueryTerm } from "@memslot/indexing";
import { allRows } from "./arrow-rows.ts";
import type { Generations } from "./generations.ts";
import type { IndexView } from "./index-view.ts";
import { askedRows } from "./path-scope.ts";
import { createTermCounts, type TermCount } from "./term-counts.ts";

/** From this many chunks on, very common terms are not looked for: the cost of a search follows its matches. */
const pruneFromChunks = 5000;
/** Chunks that may hold a term, as a share of all, before it counts as very common. */
const commonShare = 0.2;

/** What LanceDB splits words at. No term holds any of it; one that does is in no chunk. */
const gaps = /[\t-\r\u0085\p{Z}]/u;

interface FoundRow {
  id: number;
  source: string;
  path: string;
  start_line: number;
  end_line: number;
  text: string;
  context: string;
  _score: number;
}

const columns = ["id", "source", "path", "start_line", "end_line", "text", "context", "_score"];

/** Keyword search with LanceDB's own index of words. Rows that are not in the index yet are looked at one by one. */
export function createKeywordSearch(input: { generations: Generations; view: IndexView }): ChunkStore["searchKeyword"] {
  const { generations, view } = input;
  const counts = createTermCounts();

  return async (query) => {
    const { generation, active } = await view.read();
    const { chunkCount, version } = active;
    const table = await generations.table(generation);
    if (!table || chunkCount === 0) return { rows: [], chunkCount: 0, documentFrequencies: query.terms.map(() => 0) };
    const counted = await Promise.all(
      query.terms.map((term) =>
        canStandInTerms(term)
          ? counts.count(term, { table, generation, version, chunkCount })
          : { chunks: 0, words: [] },
      ),
    );
    const documentFrequencies = counted.map(({ chunks }) => chunks);
    const words = chooseWords(counted, chunkCount);
    const asked = askedRows(query, active);
    if (words.length === 0 || !asked) return { rows: [], chunkCount, documentFrequencies };
    const match = new MatchQuery(words.join(" "), "terms", { operator: Operator.Or });
    const search = table.query().fullTextSearch(match).select(columns).limit(query.limit);
    const found = await allRows<FoundRow>(asked.filter === undefined ? search : search.where(asked.filter));
    return { rows: found.map(chunkRowOf).toSorted(byScore), chunkCount, documentFrequencies };
  };
}

function canStandInTerms({ term }: QueryTerm): boolean {
  return term !== "" && !gaps.test(term);
}

/** Leaves out words that stand nowhere, and in a large index very common ones while a rarer one is there to find. */
function chooseWords(counted: readonly TermCount[], chunkCount: number): string[] {
  const limit = chunkCount > pruneFromChunks ? chunkCount * commonShare : chunkCount;
  const matching = counted.filter(({ chunks }) => chunks > 0);
  const rare = matching.filter(({ chunks }) => chunks <= limit);
  return [...new Set((rare.length > 0 ? rare : matching).flatMap(({ words }) => words))];
}

function chunkRowOf(row: FoundRow): ChunkRow & { score: number } {
  const { id, source, path, start_line: startLine, end_line: endLine, text, context, _score: score } = row;
  return { id, source, path, startLine, endLine, text, context, score };
}

function byScore(left: ChunkRow & { score: number }, right: ChunkRow & { score: number }): number {
  if (left.score !== right.score) return right.score - left.score;
  if (left.path !== right.path) return left.path < right.path ? -1 : 1;
  return left.startLine - right.startLine;
}
