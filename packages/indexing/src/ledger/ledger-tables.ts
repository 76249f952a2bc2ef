/** For the ledger thread of a store that keeps its tables in the ledger file. Loads SQLite. */
export type { Companion, CompanionModule, CompanionTables, KnownSpace, LedgerParts } from "./store-search-tables.ts";
export { type OpenedStore, openDatabaseStore } from "./database-store.ts";
export { sqlOf, type Transactions } from "./sql.ts";
export { forgetSum, quickCheck } from "./integrity.ts";
export { type Meta, metaKeys } from "./file/meta.ts";
export { applicationId, createTables, hasTable, schemaVersion, setPragmas } from "./file/schema.ts";
export { Damage, isAboutWordsOnly, isBusy, isFileFailure, isSqliteError } from "./file/store-errors.ts";
export { bm25Within, type CountedText } from "../text/bm25.ts";
export {
  byScore,
  type ChangedChunks,
  countChunks,
  filterParameters,
  isAsked,
  readRows,
  type ScoredId,
} from "./file-tables.ts";
export { type Generations, type LedgerBase, perGeneration } from "./generations.ts";
export { type Pieces, reasonOf } from "./thread/remote-calls.ts";
export { type IndexPart, type Look } from "./upkeep/check-index-parts.ts";
export type { EmbeddedChunks } from "./vectors/vector-spaces.ts";
export { checkVector, lengthOf, toVector } from "./vectors/vector-cache.ts";
