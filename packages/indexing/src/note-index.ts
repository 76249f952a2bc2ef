import type { CallOptions, CompactReport } from "@memslot/core";
import type { KeywordQuery, VectorQuery, VectorSpace } from "./chunk-store.ts";
import type { IndexedFile, IndexKeywordAnswer, IndexVectorAnswer } from "./index-row-types.ts";
import type { ExternalStoreCalls, FileTable, Ledger } from "./ledger/ledger.ts";

type OnlyForStores = keyof ExternalStoreCalls | "currentBuild" | "startBuild" | "compact";

/** The index behind a manager: ledger and chunk search. Writes are atomic per file. */
export interface NoteIndex extends Omit<Ledger, OnlyForStores> {
  /** Records files that another host has indexed; returns their number. Writes only to the ledger, without a lease. */
  importFiles?(files: readonly IndexedFile[]): Promise<number>;
  /** As that of a ledger. Absent: a rebuild replaces one file after the other in place. */
  startBuild?: ((name: string) => Promise<FileTable>) | undefined;
  giveVectors?: ((space: VectorSpace) => Promise<void>) | undefined;
  /** Filters by source and scope before it counts to `limit`. */
  searchKeyword(query: KeywordQuery, options?: CallOptions): Promise<IndexKeywordAnswer>;
  searchVector(query: VectorQuery, options?: CallOptions): Promise<IndexVectorAnswer>;
  compact(options?: CallOptions): Promise<CompactReport>;
}

export type SpaceFacts = Pick<Ledger, "note" | "noted" | "sampleVectors">;
