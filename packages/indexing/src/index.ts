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
export { chunkMarkdown, type ChunkingOptions, type TextChunk } from "./text/chunk-markdown.ts";
export { type UsageEntry, readUsage } from "./embedding/requests/usage.ts";
export { type KeywordStore, isAsked, withoutVectors } from "./search/keyword-store.ts";
export type { FileReading, IndexedSource } from "./indexed-source.ts";
export { createIndexedManager, sourcesOf } from "./manager.ts";
export { type MemoryRoot, isMarkdown, memoryRoots, relativePath, toSlashes } from "./files/memory-roots.ts";
export { stampOf } from "./files/file-stamp.ts";
export { readChunks, stampInNote } from "./files/read-chunks.ts";
export { readMemoryFile } from "./files/read-file.ts";
export type { ScannedFile, ScanResult } from "./files/scan.ts";
export {
  type Place,
  type LegAnswers,
  type SearchInput,
  type SearchOutcome,
  outcomeOf,
  placesOf,
} from "./search/search-outcome.ts";
export { type FoundChunk, matchTexts, rowOf } from "./search/search-texts.ts";
export { sessionsFolder } from "./sessions/sessions-folder.ts";
export { maxSnippetLength } from "./search/snippet.ts";
export { stopWords } from "./text/stop-words.ts";
export { indexTerms, queryTerms, scanTerms, type SearchTerm, type TermKind, type TermSink } from "./text/words.ts";
