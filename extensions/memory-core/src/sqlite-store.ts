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
 * Opens an index in a SQLite file; an unusable file is left alone and the index kept in memory, a damaged one is set
 * aside and rebuilt (see `health().notices`). Throws `UNAVAILABLE` if SQLite does not load, and `AbortError`.
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
