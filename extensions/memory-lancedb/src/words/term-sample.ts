import type { Table } from "@lancedb/lancedb";
import { allRows } from "../tables/arrow-rows.ts";

/** Chunks whose words are looked at. A share of 4 % is told right to about half a percent. */
const sampled = 1000;

/** Tells how common a word is, from some chunks of a build. For words that many chunks hold. */
export interface TermSample {
  /** The share of the chunks that hold it, 0 to 1. */
  share(word: string, build: { table: Table; generation: number; chunkCount: number }): Promise<number>;
}

/** The sample is taken anew when the number of chunks has changed by this share. */
export function createTermSample(renewedAfter: number): TermSample {
  let latest: { generation: number; chunkCount: number; texts: Promise<readonly ReadonlySet<string>[]> } | undefined;

  return {
    async share(word, { table, generation, chunkCount }) {
      const isRight =
        latest?.generation === generation &&
        Math.abs(latest.chunkCount - chunkCount) <= latest.chunkCount * renewedAfter;
      if (!isRight) {
        const texts = readSample(table);
        latest = { generation, chunkCount, texts };
        // One that failed is not kept.
        texts.catch(() => (latest = undefined));
      }
      const texts = (await latest?.texts) ?? [];
      const holding = texts.filter((words) => words.has(word)).length;
      return texts.length === 0 ? 0 : holding / texts.length;
    },
  };
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
