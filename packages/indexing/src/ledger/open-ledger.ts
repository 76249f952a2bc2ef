import type { LeaseCalls } from "../chunk-index.ts";
import type { Ledger, LedgerBuild, LedgerCalls, LedgerOptions } from "./ledger.ts";
import { openThread, type OpenedThread, type ThreadOptions } from "./thread/open-thread.ts";
import { remote, type Remote } from "./thread/remote.ts";

/**
 * Opens the ledger of a store that keeps its chunks elsewhere, in a thread of its own. There is always a ledger at the
 * end: a damaged file is set aside and made anew with the vectors that can still be read, and where no file can be used
 * it is kept in memory; `health().notices` says so. Throws `UNAVAILABLE` when SQLite itself does not load, and
 * `AbortError` when `signal` is aborted.
 */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  return await openLedgerWith({ ...options, owesVectors: true });
}

/** With the calls of a companion beside those of the ledger, and with what cannot be brought about from outside. */
export async function openLedgerWith<Companion = unknown>(options: ThreadOptions): Promise<Ledger & Remote<Companion>> {
  return ledgerOf<Companion>(await openThread(options), options.locksDir !== undefined);
}

/** `hasLeases` is false where nobody has said where their locks lie. */
export function ledgerOf<Companion>(
  { client, methods, health }: OpenedThread,
  hasLeases: boolean,
): Ledger & Remote<Companion> {
  const calls: Remote<LedgerCalls & LeaseCalls> & Remote<Companion> = remote<LedgerCalls & LeaseCalls & Companion>(
    client.call,
    methods,
  );
  const tableOf = (build: number): LedgerBuild => ({
    build,
    listFiles: () => calls.listFiles(build),
    replaceFiles: (files) => calls.replaceFiles(files, build),
    touchFiles: (files) => calls.touchFiles(files, build),
    removeFiles: (files) => calls.removeFiles(files, build),
  });
  return {
    ...calls,
    leases: hasLeases ? calls : undefined,
    // Each answer says which state of the files it is of.
    revision: async (how?: { fresh: boolean }) =>
      (how?.fresh === true ? undefined : health().revision) ?? (await calls.revision()),
    startBuild: async (name: string) => tableOf(await calls.startBuild(name)),
    async currentBuild() {
      const current = await calls.currentBuild();
      return current && { name: current.name, table: tableOf(current.build) };
    },
    health,
    close: () => client.close(),
  };
}
