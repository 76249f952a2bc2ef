import type { ChunkIndex, ChunkRow, IndexKeywordAnswer } from "../../chunk-index.ts";
import type { QueryTerm } from "../../chunk-store.ts";
import type { AskedQuery } from "./asked-query.ts";
import { scanTerms } from "../../text/words.ts";
import { flatMapInSlices } from "../../time-slices.ts";
import { fittingPart } from "./row-filter.ts";

/** What a search asks of an index. */
export type SearchedIndex = Pick<ChunkIndex, "searchKeyword" | "searchVector">;

/**
 * An index that finds only chunks that are asked for, as many as are wanted: those that do not fit take no place, however
 * many of them are better. Its counts are those of all chunks.
 */
export function filledIndex<Index extends SearchedIndex>(index: Index, asked: AskedQuery, signal: AbortSignal): Index {
  const known = new Map<ChunkRow["id"], ChunkRow | undefined>();
  const partOf = (row: ChunkRow): ChunkRow | undefined => {
    const part = known.has(row.id) ? known.get(row.id) : fittingPart(row, asked);
    known.set(row.id, part);
    return part;
  };
  const filled = async <Answer extends { rows: (ChunkRow & { score: number })[] }>(
    limit: number,
    ask: (limit: number) => Promise<Answer>,
    isFound: (part: ChunkRow) => boolean = () => true,
  ): Promise<Answer> => {
    for (let wanted = limit; ; wanted *= 4) {
      const answer = await ask(wanted);
      const rows = await flatMapInSlices(answer.rows, signal, (row) => {
        const part = partOf(row);
        // Of a chunk of several days only some lines may be left.
        return part === undefined || (part.text !== row.text && !isFound(part)) ? [] : [{ ...part, score: row.score }];
      });
      if (rows.length >= limit || answer.rows.length < wanted) return { ...answer, rows: rows.slice(0, limit) };
    }
  };
  return {
    ...index,
    async searchKeyword(query) {
      const { limit, terms } = query;
      const ask = (own: readonly QueryTerm[]): Promise<IndexKeywordAnswer> =>
        filled(
          limit,
          (wanted) => index.searchKeyword({ ...query, terms: own, limit: wanted }),
          (part) => holdsTerm(part.text, own),
        );
      const answer = await ask(terms);
      if (answer.rows.length > 0 || terms.length < 2) return answer;
      // Very common words are not looked for beside rarer ones, which are all in chunks that do not fit.
      const each = await Promise.all(terms.map((term) => ask([term])));
      const rows = new Map(each.flatMap((own) => own.rows.map((row) => [row.id, row])));
      return { ...answer, rows: [...rows.values()].toSorted((a, b) => b.score - a.score).slice(0, limit) };
    },
    searchVector: (query) => filled(query.limit, (limit) => index.searchVector({ ...query, limit })),
  };
}

function holdsTerm(text: string, terms: readonly QueryTerm[]): boolean {
  let isHeld = false;
  scanTerms(text, (own) => {
    isHeld ||= terms.some(({ term, prefix }) => (prefix ? own.startsWith(term) : own === term));
  });
  return isHeld;
}
