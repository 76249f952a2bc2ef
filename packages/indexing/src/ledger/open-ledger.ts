import type { Ledger, LedgerBuild, LedgerOptions } from "./ledger.ts";
import { openThread, type ThreadOptions } from "./thread/open-thread.ts";
import { buildCalls, keptCalls, threadCalls } from "./thread/thread-calls.ts";

/**
 * Opens the ledger of a store that keeps its chunks elsewhere, in a thread of its own. There is always a ledger at the
 * end: a damaged file is set aside and made anew with the vectors that can still be read, and where no file can be used
 * it is kept in memory; `health().notices` says so. Throws `UNAVAILABLE` when SQLite itself does not load, and
 * `AbortError` when `signal` is aborted.
 */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  return await openLedgerWith(options);
}

/** For tests: with what cannot be brought about from outside. */
export async function openLedgerWith(options: ThreadOptions): Promise<Ledger> {
  const thread = await openThread({ ...options, owesVectors: true });
  const { call } = threadCalls(thread);
  const tableOf = (build: number): LedgerBuild => ({ ...buildCalls(thread, build), build });
  return {
    ...keptCalls(thread, options.locksDir !== undefined),
    startBuild: async (name) => tableOf(await call("buildStart", name)),
    async currentBuild() {
      const current = await call("buildCurrent");
      return current && { name: current.name, table: tableOf(current.build) };
    },
    finishBuild: () => call("buildFinish"),
    abandonBuild: () => call("buildAbandon"),
    rowsOf: (found) => call("rowsOf", found),
    oweVectors: (space) => call("oweVectors", space),
    owedVectors: (limit) => call("owedVectors", limit),
    paidVectors: (space, hashes) => call("paidVectors", space, hashes),
    adoptVectors: (space, files) => call("adoptVectors", space, files),
    reconcile: (held, build) => call("reconcile", held, build),
    note: (name, value) => call("note", name, value),
    noted: (name) => call("noted", name),
  };
}
