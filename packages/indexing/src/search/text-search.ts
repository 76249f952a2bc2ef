import type { ChunkRow, IndexKeywordAnswer } from "../index-row-types.ts";
import { type Chunk, type FileKey, fileName, type QueryTerm } from "../chunk-store.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import { linesOfChunks } from "../text/file-text.ts";
import { chunkTerms, loadStemmers } from "../text/languages/chunk-terms.ts";
import { languageOfFile, type LanguageCode } from "../text/languages/detect-language.ts";
import { searchedText } from "../text/note-context.ts";
import { remembered } from "../text/word-cache.ts";
import { flatMapInSlices } from "../time-slices.ts";
import { inverseDocumentFrequency, termScore } from "../text/bm25.ts";
import { askWords, type WordsFound } from "./words/search-words.ts";
import { lazily } from "@memslot/core/host";

export interface FoundChunk extends FileKey, Pick<Chunk, "startLine" | "endLine" | "text" | "context" | "terms"> {}

const termsIn = lazily(async () => {
  const stemmers = await loadStemmers();
  return remembered((language: string) =>
    remembered((text) => chunkTerms(text, stemmers, () => (language as LanguageCode | "") || undefined)),
  );
});

/** The chunks of whole files, with the terms that they were indexed by. */
export async function withTerms(rows: readonly ChunkRow[], signal: AbortSignal): Promise<FoundChunk[]> {
  const terms = await termsIn();
  const files = Map.groupBy(rows, fileName);
  return await flatMapInSlices(files.values(), signal, (chunks) => {
    const isNote = chunks[0]?.source === "memory";
    const ofFile = terms((isNote && languageOfFile(linesOfChunks(chunks))) || "");
    return chunks.map((chunk) => {
      const text = isNote ? searchedText(chunk) : `${chunk.text}\n${chunk.context}`;
      return { ...chunk, terms: ofFile(text) };
    });
  });
}

/** Keyword search over given chunks: the best `limit` by BM25. `chunkCount` is of the whole index. */
export async function matchTexts(input: {
  chunks: readonly FoundChunk[];
  query: string;
  chunkCount: number;
  limit: number;
}): Promise<WordsFound> {
  const texts = input.chunks.map(({ terms }) => terms.split(" "));
  return await askWords(redactSecrets(input.query), {
    find: async (terms) => find(terms, texts, input),
    count: async (terms) => count(texts, terms).map(({ size }) => size),
  });
}

function find(
  terms: readonly QueryTerm[],
  texts: readonly (readonly string[])[],
  { chunks, limit, ...index }: { chunks: readonly FoundChunk[]; chunkCount: number; limit: number },
): IndexKeywordAnswer {
  const counts = count(texts, terms);
  const known = counts.map((holders) => holders.size);
  const chunkCount = Math.max(index.chunkCount, chunks.length);
  const averageWords = texts.reduce((sum, words) => sum + words.length, 0) / Math.max(1, texts.length);
  const rows = new Map<number, ChunkRow & { score: number }>();
  for (const [term, holders] of counts.entries()) {
    const idf = inverseDocumentFrequency(chunkCount, known[term] ?? 0);
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
  return { rows: best, chunkCount, documentFrequencies: known };
}

export function rowOf(chunk: FoundChunk, id: number): ChunkRow & { score: number } {
  const { path, source, startLine, endLine, text, context } = chunk;
  return { id, path, source, startLine, endLine, text, context, score: 0 };
}

function count(texts: readonly (readonly string[])[], terms: readonly QueryTerm[]): Map<number, number>[] {
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
