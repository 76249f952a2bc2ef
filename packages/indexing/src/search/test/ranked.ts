import type { ChunkRow, IndexKeywordAnswer, IndexVectorAnswer } from "../../chunk-index.ts";
import { inverseDocumentFrequency } from "../bm25.ts";
import type { WeightedTerm } from "../line-scores.ts";
import { queryTerms } from "../../text/words.ts";

/** The terms of a query with weights as in an index of 1,000 chunks; `counts` says how many hold a term, 10 if not named. */
export function weightedTerms(query: string, counts: Record<string, number> = {}): WeightedTerm[] {
  return queryTerms(query).map((term) => ({ ...term, idf: inverseDocumentFrequency(1000, counts[term.term] ?? 10) }));
}

let lastId = 0;

export function row(text: string, change: Partial<ChunkRow> = {}): ChunkRow {
  const startLine = change.startLine ?? 1;
  return {
    id: ++lastId,
    path: "memory/a.md",
    source: "memory",
    startLine,
    endLine: startLine + text.split("\n").length - 1,
    text,
    context: "",
    ...change,
  };
}

export function keywordAnswer(
  rows: readonly (readonly [ChunkRow, number])[],
  documentFrequencies: number[],
): IndexKeywordAnswer {
  return { rows: rows.map(([own, score]) => ({ ...own, score })), chunkCount: 1000, documentFrequencies };
}

export function vectorAnswer(rows: readonly (readonly [ChunkRow, number])[]): IndexVectorAnswer {
  return { rows: rows.map(([own, score]) => ({ ...own, score })) };
}
