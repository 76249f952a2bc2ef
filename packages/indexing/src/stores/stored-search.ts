import type { ChunkIndex, ChunkRow, IndexKeywordAnswer, IndexVectorAnswer } from "../chunk-index.ts";
import type { ScoredChunk } from "../chunk-store.ts";
import type { StoreParts } from "./agreement.ts";

/** Searches in a store, whose chunks are answered as the ledger knows them. */
export function createStoredSearch({
  ledger,
  store,
  agreement,
}: StoreParts): Pick<ChunkIndex, "searchKeyword" | "searchVector"> {
  /** Asks the store. One that fails may have lost what it held, and begun anew: then it is asked once more. */
  async function ask<Answer>(question: () => Promise<Answer>): Promise<Answer> {
    try {
      return await question();
    } catch (error) {
      const hasLost = await agreement.compare().catch(() => false);
      if (!hasLost) throw error;
      return await question();
    }
  }

  /** The chunks that a store has named, as the ledger knows them. */
  async function resolve(
    found: readonly ScoredChunk[],
  ): Promise<{ rows: (ChunkRow & { score: number })[]; left: number }> {
    let rows = await ledger.rowsOf(found);
    // The store has already what the ledger gets in a moment.
    if (rows.length < found.length && (await agreement.written())) rows = await ledger.rowsOf(found);
    const left = found.length - rows.length;
    if (left > 0) agreement.distrust();
    return { rows, left };
  }

  return {
    async searchKeyword(query): Promise<IndexKeywordAnswer> {
      const answer = await ask(() => store.searchKeyword({ ...query, at: agreement.at }));
      const { rows, left } = await resolve(answer.rows);
      const lack = left === 0 ? undefined : `the store names ${left} chunks that are not in the index any more`;
      const incomplete = answer.incomplete ?? lack;
      return {
        rows,
        chunkCount: answer.chunkCount,
        documentFrequencies: [...answer.documentFrequencies],
        ...(incomplete !== undefined && { incomplete }),
      };
    },
    async searchVector(query): Promise<IndexVectorAnswer> {
      const { rows } = await ask(() => store.searchVector({ ...query, at: agreement.at }));
      return { rows: (await resolve(rows)).rows };
    },
  };
}
