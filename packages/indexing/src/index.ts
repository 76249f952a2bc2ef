export type * from "./index-row-types.ts";
export type { NoteIndex } from "./note-index.ts";
export type { FileTable, LeaseName, IndexLeases, Ledger, LedgerOptions } from "./ledger/ledger.ts";
export { type UsageEntry, readUsage } from "./embedding/requests/read-usage.ts";
export {
  type Chunk,
  type ChunkStore,
  type FileChunks,
  type FileFilter,
  type FileKey,
  type KeywordAnswer,
  type KeywordQuery,
  type LineRange,
  type PathScope,
  type QueryTerm,
  type ScoredChunk,
  type StateAsked,
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
export { bm25Within, type CountedText } from "./text/bm25.ts";
export { type ClientSurvey, surveyClients } from "./agents/agent-source.ts";
export { createIndexedManager } from "./stores/indexed-manager.ts";
export { readMemoryFile } from "./scan/read-memory-file.ts";
export { sessionsFolder } from "./sources/session-folders.ts";
export { timeOfPath } from "./text/times/note-days.ts";
export { queryTerms } from "./text/query-terms.ts";
export { indexTerms, scanTerms } from "./text/index-terms.ts";
export {
  createMatcher,
  type Gap,
  marked,
  matchedWords,
  type Matcher,
  type NumberedLine,
  type ResultLines,
  resultLines,
} from "./search/result-lines.ts";
