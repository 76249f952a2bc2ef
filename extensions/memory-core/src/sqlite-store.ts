import type { NoteIndex, Ledger, LedgerOptions } from "@memslot/indexing";
import { openLedgerWith } from "@memslot/indexing/ledger";
import type { CompanionCalls, CompanionSettings } from "./companion.ts";
import type { VectorSettings } from "./vectors/engines/engines.ts";

export const backend = "memory-core";

export interface SqliteStoreOptions extends Omit<LedgerOptions, "store"> {
  vector: VectorSettings;
}

export type SqliteIndex = NoteIndex & Pick<Ledger, "startBuild">;

/** For tests: faults that cannot be caused from outside. */
export interface SqliteStoreFaults {
  disableFts?: boolean;
  busyTimeoutMs?: number;
}

/**
 * Opens an index in a SQLite file: its chunks are in the ledger's file and its words and vectors in the ledger's
 * thread, so that one transaction covers both and a search costs one message. A file that cannot be used (foreign,
 * locked, read-only) is left alone and the index is kept in memory; a damaged one is set aside and rebuilt:
 * `health().notices` says so. Throws `UNAVAILABLE` when SQLite itself does not load, and `AbortError` when `signal` is
 * aborted.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteIndex> {
  return await openStore(options, {});
}

export async function openStore(
  { vector, ...options }: SqliteStoreOptions,
  { disableFts = false, busyTimeoutMs }: SqliteStoreFaults,
): Promise<SqliteIndex> {
  const settings: CompanionSettings = { disableFts, vector: { ...vector } };
  const companion = { module: import.meta.resolve("#companion"), settings };
  return await openLedgerWith<CompanionCalls>({ ...options, store: backend, companion, busyTimeoutMs });
}
