import type { CallOptions, CompactReport } from "@memslot/core";
import type { KeywordQuery, VectorQuery, VectorSpace } from "./chunk-store.ts";
import type { IndexedFile, IndexKeywordAnswer, IndexVectorAnswer } from "./index-records.ts";
import type { ElsewhereCalls, FileTable, Ledger } from "./ledger/ledger.ts";

/** What only those use of a ledger who make an index of it and a store. */
type OnlyForStores = keyof ElsewhereCalls | "currentBuild" | "startBuild" | "compact";

/**
 * What a manager works with: the ledger of what is known of the notes, and what finds their chunks. That lies in the file of
 * the ledger, or is a store elsewhere that is kept in step with it, or a tool that has a search of its own. Everything else
 * (which files there are, how they are cut, when they are stale, how two legs become one list) is done by this package, once.
 *
 * A write is whole or not at all for each file. Calls may overlap. After `close` nothing is called.
 */
export interface NoteIndex extends Omit<Ledger, OnlyForStores> {
  /**
   * Takes over those files that another host has put into the store in this very form, and gives how many they are. Nothing
   * is written to the store, so it needs no right to write there. Absent: no other host writes there.
   */
  adoptFiles?(files: readonly IndexedFile[]): Promise<number>;
  /** As that of a ledger. Absent: a rebuild replaces one file after the other in place. */
  startBuild?: ((name: string) => Promise<FileTable>) | undefined;
  /**
   * Hands the vectors of this space that are known already to a store elsewhere, before a question waits for that. Absent:
   * they are where they are searched.
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
