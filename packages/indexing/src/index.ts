export type {
  ChunkId,
  ChunkRow,
  ChunkIndex,
  IndexedFile,
  FileTable,
  GenerationFacts,
  IndexKeywordAnswer,
  LeaseName,
  QuarantinedChunk,
  SpaceStats,
  IndexBuilds,
  FileRecord,
  IndexHealth,
  IndexLeases,
  IndexStats,
  IndexUpkeep,
  IndexVectorAnswer,
} from "./chunk-index.ts";
export { chunkMarkdown, type ChunkingOptions, type TextChunk } from "./text/chunk-markdown.ts";
export { type UsageEntry, readUsage } from "./embedding/requests/usage.ts";
export {
  type Chunk,
  type ChunkStore,
  type FileChunks,
  type FileFilter,
  type FileKey,
  type KeywordAnswer,
  type KeywordQuery,
  type PathScope,
  type QueryTerm,
  type ScoredChunk,
  type StoreBuild,
  type StoredFile,
  type StoreFiles,
  type StoreStats,
  type VectorAnswer,
  type VectorQuery,
  type VectorSpace,
  isAsked,
  spaceName,
} from "./chunk-store.ts";
export type { Ledger, LedgerBuild, LedgerOptions, OwedVectors, Reconciled } from "./ledger/ledger.ts";
export { type KeywordStore, withoutVectors } from "./search/keyword-store.ts";
export { bm25Within, type CountedText, worthAsking } from "./search/bm25.ts";
export type { FileReading, IndexedSource } from "./indexed-source.ts";
export { manageIndex, sourcesOf } from "./manager.ts";
export { createIndexedManager } from "./stores/indexed-manager.ts";
export { createStoredIndex, type StoredIndexOptions } from "./stores/stored-index.ts";
export { type MemoryRoot, isMarkdown, memoryRoots, relativePath, toSlashes } from "./files/memory-roots.ts";
export { stampOf } from "./files/file-stamp.ts";
export { readChunks, stampInNote } from "./files/read-chunks.ts";
export { readMemoryFile } from "./files/read-file.ts";
export type { ScannedFile, ScanResult } from "./files/scan.ts";
export {
  type SearchedSource,
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
