/** Parts of the engine for a backend that has its own search, such as memory-qmd. */
export type { IndexedSource } from "./indexed-source.ts";
export { manageIndex, sourcesOf } from "./manager.ts";
export { createSearchedManager } from "./stores/external-search-manager.ts";
export { createStoredIndex } from "./stores/stored-index.ts";
export { isMarkdown } from "./scan/folder-rules.ts";
export { memoryRoots, relativePath, toSlashes, type Workspace } from "./scan/memory-roots.ts";
export type { ScanResult } from "./scan/scan.ts";
export {
  type SearchedSource,
  type SearchInput,
  type SearchOutcome,
  outcomeOf,
  placesOf,
} from "./search/search-outcome.ts";
export { type AskedQuery, filtersRows } from "./search/query/query-filters.ts";
export { listRows } from "./search/query/list-notes.ts";
export { fitsPlace, fittingPart, undatedIn } from "./search/query/chunk-filter.ts";
export { type FoundChunk, matchTexts, rowOf, withTerms } from "./search/text-search.ts";
export { stopWords } from "./text/languages/detect-language.ts";
