import type { ChunkRow, IndexKeywordAnswer } from "../chunk-index.ts";
import type { Chunk, FileKey } from "../chunk-store.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import { inverseDocumentFrequency, termScore } from "./bm25.ts";
import { queryTerms, type SearchTerm } from "../text/words.ts";

/** A word that stands in none of the texts is tried as the beginning of one, from this length on. */
const minPrefixLength = 3;

/** A chunk of a file that somebody else has found. */
export interface FoundChunk extends FileKey, Pick<Chunk, "startLine" | "endLine" | "text" | "context" | "terms"> {}

/**
 * The keyword leg over chunks that are at hand, for a backend that finds files and no places in them: those that hold a
 * word of the query, the best `limit` of them by BM25. Words are read as in every other search, so that scores mean the
 * same. `chunkCount` is that of the whole index.
 */
export function matchTexts(input: {
  chunks: readonly FoundChunk[];
  query: string;
  chunkCount: number;
  limit: number;
}): { answer: IndexKeywordAnswer; terms: SearchTerm[] } {
  const { chunks, limit } = input;
  // Redacted as the chunks are.
  const asked = queryTerms(redactSecrets(input.query));
  const texts = chunks.map(({ terms }) => terms.split(" "));
  const first = count(texts, asked);
  const terms = asked.map((term, index) => (isUnknown(term, first[index]) ? { ...term, prefix: true } : term));
  const counts = terms.some((term, index) => term !== asked[index]) ? count(texts, terms) : first;
  const known = counts.map((holders) => holders.size);
  const chunkCount = Math.max(input.chunkCount, chunks.length);
  const averageWords = texts.reduce((sum, words) => sum + words.length, 0) / Math.max(1, texts.length);
  const rows = new Map<number, ChunkRow & { score: number }>();
  for (const [index, holders] of counts.entries()) {
    const idf = inverseDocumentFrequency(chunkCount, known[index] ?? 0);
    for (const [at, times] of holders) {
      const chunk = chunks[at];
      if (chunk === undefined) continue;
      const length = (texts[at]?.length ?? 0) / Math.max(1, averageWords);
      const row = rows.get(at) ?? rowOf(chunk, at);
      row.score += termScore(idf, times, length);
      rows.set(at, row);
    }
  }
  const best = [...rows.values()].toSorted((left, right) => right.score - left.score).slice(0, limit);
  return {
    answer: { rows: best, chunkCount, documentFrequencies: known },
    terms: terms.map((term, index) => (known[index] === 0 ? (asked[index] ?? term) : term)),
  };
}

/** The row of a chunk, by its place in the list that was given. */
export function rowOf(chunk: FoundChunk, id: number): ChunkRow & { score: number } {
  const { path, source, startLine, endLine, text, context } = chunk;
  return { id, path, source, startLine, endLine, text, context, score: 0 };
}

function isUnknown(term: SearchTerm, holders: ReadonlyMap<number, number> | undefined): boolean {
  return holders?.size === 0 && term.kind === "word" && !term.prefix && term.term.length >= minPrefixLength;
}

/** For each term, which texts hold it and how often. */
function count(texts: readonly (readonly string[])[], terms: readonly SearchTerm[]): Map<number, number>[] {
  const counts = terms.map(() => new Map<number, number>());
  const exact = new Map(terms.flatMap((term, index) => (term.prefix ? [] : [[term.term, index] as const])));
  const prefixes = [...terms.entries()].filter(([, { prefix }]) => prefix);
  for (const [at, words] of texts.entries()) {
    const note = (index: number): void => {
      const holders = counts[index];
      holders?.set(at, (holders.get(at) ?? 0) + 1);
    };
    for (const word of words) {
      const index = exact.get(word);
      if (index !== undefined) note(index);
      for (const [other, { term }] of prefixes) if (word.startsWith(term)) note(other);
    }
  }
  return counts;
}
