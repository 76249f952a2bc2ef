import type { ChunkIndex, ChunkRow } from "../../chunk-index.ts";
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
    searchKeyword: (query) =>
      filled(
        query.limit,
        (limit) => index.searchKeyword({ ...query, limit }),
        (part) => holdsTerm(part.text, query.terms),
      ),
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
