import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { MemoryError, type MemoryPluginContext, withDeadline } from "@memslot/core";
import type { LeaseCalls, Ledger, LedgerBuild, LedgerCalls, LedgerOptions } from "./ledger.ts";
import type { IndexHealth } from "../index-records.ts";
import { remote, type Remote, type Method } from "./thread/remote.ts";
import type { OpenOptions } from "./thread/protocol.ts";
import { SharedLedger } from "./thread/shared-threads.ts";
import { clientOf, type WorkerClient } from "./thread/worker-client.ts";

/** The ledger of a memory, where its settings have it. `store` is the name of the backend. */
export function ledgerOptions(context: MemoryPluginContext, store: string): LedgerOptions {
  const { agentId, workspaceDir, stateDir, oneShot, signal } = context;
  const { path } = context.settings.store;
  const { enabled, maxEntries } = context.settings.cache;
  return {
    store,
    path,
    mayCreate: context.readOnly !== true,
    isOwnPlace: dirname(path) === join(stateDir, "memory"),
    owner: { agentId, workspaceDir },
    locksDir: join(stateDir, "locks"),
    cacheMaxEntries: enabled ? maxEntries : 0,
    oneShot,
    signal,
  };
}

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

/** A ledger to be opened, and what is for the one who keeps tables of its own in it, or for tests. */
export interface ThreadOptions extends LedgerOptions, Pick<OpenOptions, "companion" | "owesVectors"> {
  busyTimeoutMs?: number | undefined;
}

/** A thread whose database is open. */
export interface OpenedThread {
  client: WorkerClient;
  /** What it can be asked. */
  methods: readonly Method[];
  health(): IndexHealth;
}

const usualBusyTimeoutMs = 5000;

/**
 * Opens a ledger in a thread that the ledgers of this process share, or in the caller's where it is there already and
 * `oneShot` says so. A file that cannot be used (foreign, locked, read-only) is left alone and the ledger is kept in
 * memory; a damaged one is set aside and rebuilt: `health().notices` says so. Throws `UNAVAILABLE` when SQLite itself
 * does not load, and `AbortError` when `signal` is aborted.
 */
export async function openThread(options: ThreadOptions): Promise<OpenedThread> {
  const { signal, oneShot = false, busyTimeoutMs = usualBusyTimeoutMs, ...others } = options;
  signal?.throwIfAborted();
  const what = `the index ${options.path}`;
  // A first index is long work, which two threads share.
  const isOwn = oneShot && existsSync(options.path);
  const thread = isOwn
    ? (await import("./thread/own-thread.ts")).openOwnThread()
    : // What is in memory alone would be lost in another thread.
      new SharedLedger(() => client.health()?.isTemporary !== true);
  const client: WorkerClient = clientOf(thread, what);
  try {
    const request: OpenOptions = { ...others, busyTimeoutMs };
    const limits = { what: `opening ${what}`, signals: [signal] };
    const methods = (await withDeadline(limits, () => client.call("open", [request]))) as Method[];
    const first = client.health();
    if (!first) throw new MemoryError("UNAVAILABLE", `the index ${options.path} opened without saying where it is`);
    return { client, methods, health: () => client.health() ?? first };
  } catch (error) {
    await client.close();
    throw error;
  }
}
