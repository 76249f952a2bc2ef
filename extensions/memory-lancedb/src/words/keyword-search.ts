import { MatchQuery, Operator } from "@lancedb/lancedb";
import type { ChunkRow, ChunkIndex, QueryTerm } from "@memslot/indexing";
import { worthAsking } from "@memslot/memory-core";
import { allRows } from "../tables/arrow-rows.ts";
import type { Generations } from "../generations.ts";
import type { IndexView } from "../index-view.ts";
import { askedRows } from "./path-scope.ts";
import { searchScope } from "./scoped-keyword-search.ts";
import { createTermCounts, type TermCount } from "./term-counts.ts";

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
export function createKeywordSearch(input: { generations: Generations; view: IndexView }): ChunkIndex["searchKeyword"] {
  const { generations, view } = input;
  const counts = createTermCounts();

  return async (query) => {
    const { generation, active } = await view.read();
    const { chunkCount, version } = active;
    const table = await generations.table(generation);
    if (!table || chunkCount === 0) return { rows: [], chunkCount: 0, documentFrequencies: query.terms.map(() => 0) };
    if (query.scope) return await searchScope(query, { table, listing: active, canStandInTerms });
    const counted = await Promise.all(
      query.terms.map((term) =>
        canStandInTerms(term)
          ? counts.count(term, { table, generation, version, chunkCount })
          : { chunks: 0, words: [] },
      ),
    );
    const documentFrequencies = counted.map(({ chunks }) => chunks);
    const asked = askedRows(query, active);
    const rarer = worthAsking(counted, ({ chunks }) => chunks, chunkCount);
    const find = async (terms: readonly TermCount[]): Promise<FoundRow[]> => {
      const words = [...new Set(terms.flatMap(({ words: own }) => own))];
      if (words.length === 0 || !asked) return [];
      const match = new MatchQuery(words.join(" "), "terms", { operator: Operator.Or });
      const search = table.query().fullTextSearch(match).select(columns).limit(query.limit);
      return await allRows<FoundRow>(asked.filter === undefined ? search : search.where(asked.filter));
    };
    let found = await find(rarer);
    // The rarer words may all stand in other sources: then the common ones are the question.
    if (found.length === 0) found = await find(counted.filter((term) => term.chunks > 0 && !rarer.includes(term)));
    return { rows: found.map(chunkRowOf).toSorted(byScore), chunkCount, documentFrequencies };
  };
}

function canStandInTerms({ term }: QueryTerm): boolean {
  return term !== "" && !gaps.test(term);
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
