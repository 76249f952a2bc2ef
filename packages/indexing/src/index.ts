export type {
  Chunk,
  ChunkId,
  ChunkRow,
  ChunkStore,
  FileChunks,
  FileKey,
  FileTable,
  GenerationFacts,
  KeywordAnswer,
  KeywordQuery,
  LeaseName,
  PathScope,
  QuarantinedChunk,
  QueryTerm,
  SpaceStats,
  StoreBuilds,
  StoredFile,
  StoreHealth,
  StoreLeases,
  StoreStats,
  StoreUpkeep,
  VectorAnswer,
  VectorQuery,
  VectorSpace,
} from "./chunk-store.ts";
export { chunkMarkdown, type ChunkingOptions, type TextChunk } from "./chunk-markdown.ts";
export { type UsageEntry, readUsage } from "./embedding/usage.ts";
export { createIndexedManager } from "./manager.ts";
export { maxSnippetLength } from "./snippet.ts";
export { indexTerms, queryTerms, scanTerms, type SearchTerm, type TermKind, type TermSink } from "./words.ts";
