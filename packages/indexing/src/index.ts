export type {
  Chunk,
  ChunkId,
  ChunkRow,
  ChunkStore,
  FileChunks,
  FileKey,
  KeywordAnswer,
  KeywordQuery,
  QuarantinedChunk,
  QueryTerm,
  SpaceStats,
  StoredFile,
  StoreHealth,
  StoreStats,
  VectorAnswer,
  VectorQuery,
  VectorSpace,
} from "./chunk-store.ts";
export { chunkMarkdown, type ChunkingOptions, type TextChunk } from "./chunk-markdown.ts";
export { type UsageEntry, readUsage } from "./embedding/usage.ts";
export { createIndexedManager } from "./manager.ts";
export { maxSnippetLength } from "./snippet.ts";
export { indexTerms, queryTerms, scanTerms, type SearchTerm, type TermKind, type TermSink } from "./words.ts";
