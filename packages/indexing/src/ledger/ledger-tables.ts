/**
 * For the thread of a ledger in whose file a store keeps tables of its own to find chunks with: what such a companion
 * is, and what it uses of the ledger. It loads SQLite, so it is not for the host's thread.
 */
export type { Companion, CompanionModule, CompanionTables, KnownSpace, LedgerParts } from "./companion.ts";
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
} from "./files.ts";
export { type Generations, type LedgerBase, perGeneration } from "./generations.ts";
export { type Pieces, reasonOf } from "./thread/remote.ts";
export { type IndexPart, type Look } from "./upkeep/index-parts.ts";
export type { EmbeddedChunks } from "./spaces.ts";
export { checkVector, lengthOf, toVector } from "./cache.ts";
