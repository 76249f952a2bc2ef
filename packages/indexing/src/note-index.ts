import type { CallOptions, CompactReport } from "@memslot/core";
import type { KeywordQuery, VectorQuery, VectorSpace } from "./chunk-store.ts";
import type { IndexedFile, IndexKeywordAnswer, IndexVectorAnswer } from "./index-records.ts";
import type { ElsewhereCalls, FileTable, Ledger } from "./ledger/ledger.ts";

/** What only those use of a ledger who make an index of it and a store. */
type OnlyForStores = keyof ElsewhereCalls | "currentBuild" | "startBuild" | "compact";

/**
 * The index behind a manager: the ledger and the search over its chunks, in the ledger file, in an external store, or
 * in a tool with its own search. A write is atomic per file. Calls may overlap; none follows `close`.
 */
export interface NoteIndex extends Omit<Ledger, OnlyForStores> {
  /**
   * Imports files that another host has indexed in this form and returns their number. Writes only to the ledger, so it
   * needs no lease. Absent: no other host writes.
   */
  importFiles?(files: readonly IndexedFile[]): Promise<number>;
  /** As that of a ledger. Absent: a rebuild replaces one file after the other in place. */
  startBuild?: ((name: string) => Promise<FileTable>) | undefined;
  /**
   * Sends known vectors of this space to an external store before a query needs them. Absent: the ledger searches them.
   */
  giveVectors?: ((space: VectorSpace) => Promise<void>) | undefined;
  /** Filters by source and scope before it counts to `limit`. */
  searchKeyword(query: KeywordQuery, options?: CallOptions): Promise<IndexKeywordAnswer>;
  /** Compares with the vectors of this space only. */
  searchVector(query: VectorQuery, options?: CallOptions): Promise<IndexVectorAnswer>;
  compact(options?: CallOptions): Promise<CompactReport>;
}

/** What is known of vector spaces beside their vectors. */
export type SpaceFacts = Pick<Ledger, "note" | "noted" | "sampleVectors">;
