export type {
  ChunkRow,
  IndexedFile,
  RevisionStep,
  IndexKeywordAnswer,
  QuarantinedChunk,
  FileRecord,
  IndexHealth,
  IndexStats,
  IndexVectorAnswer,
} from "./index-records.ts";
export type { NoteIndex } from "./note-index.ts";
export type { FileTable, LeaseName, IndexLeases, Ledger, LedgerOptions } from "./ledger/ledger.ts";
export { type UsageEntry, readUsage } from "./embedding/requests/usage.ts";
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
export type { IndexedSource } from "./indexed-source.ts";
export { type ClientSurvey, surveyClients } from "./agents/agent-source.ts";
export { manageIndex, sourcesOf } from "./manager.ts";
export { createIndexedManager, createSearchedManager } from "./stores/indexed-manager.ts";
export { createStoredIndex } from "./stores/stored-index.ts";
export { isMarkdown } from "./scan/folder-rules.ts";
export { memoryRoots, relativePath, toSlashes, type Workspace } from "./scan/memory-roots.ts";
export { readMemoryFile } from "./scan/read-file.ts";
export type { ScanResult } from "./scan/scan.ts";
export {
  type SearchedSource,
  type SearchInput,
  type SearchOutcome,
  outcomeOf,
  placesOf,
} from "./search/search-outcome.ts";
export { type AskedQuery, filtersRows } from "./search/query/asked-query.ts";
export { listRows } from "./search/query/listed-notes.ts";
export { fitsPlace, fittingPart, undatedIn } from "./search/query/row-filter.ts";
export { type FoundChunk, matchTexts, rowOf, withTerms } from "./search/search-texts.ts";
export { sessionsFolder } from "./sources/folders.ts";
export { stopWords } from "./text/languages/languages.ts";
export { timeOfPath } from "./text/times/time-of-path.ts";
export { queryTerms } from "./text/query-terms.ts";
export { indexTerms, scanTerms } from "./text/words.ts";
export {
  createMatcher,
  type Gap,
  marked,
  matchedWords,
  type Matcher,
  type NumberedLine,
  type ResultLines,
  resultLines,
} from "./shown/result-lines.ts";
