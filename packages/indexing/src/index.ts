export type {
  Chunk,
  ChunkId,
  ChunkRow,
  ChunkStore,
  FileChunks,
  FileKey,
  KeywordAnswer,
  KeywordQuery,
  QueryTerm,
  StoredFile,
  StoreHealth,
  StoreStats,
  VectorAnswer,
  VectorQuery,
  VectorSpace,
} from "./chunk-store.ts";
export { chunkMarkdown, type ChunkingOptions, type TextChunk } from "./chunk-markdown.ts";
export { createIndexedManager } from "./manager.ts";
export { maxSnippetLength } from "./snippet.ts";
export { indexTerms, queryTerms, scanTerms, type SearchTerm, type TermKind, type TermSink } from "./words.ts";
