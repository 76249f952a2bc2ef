import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { MemoryError, type MemoryPluginContext, withDeadline } from "@memslot/core";
import type { LeaseCalls, Ledger, LedgerBuild, LedgerCalls, LedgerOptions } from "./ledger.ts";
import type { IndexHealth } from "../index-row-types.ts";
import { remote, type Remote, type Method } from "./thread/remote-calls.ts";
import type { OpenOptions } from "./thread/thread-messages.ts";
import { SharedLedger } from "./thread/shared-threads.ts";
import { clientOf, type WorkerClient } from "./thread/worker-client.ts";

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

/** Opens a ledger in a thread; falls back to memory. Throws `UNAVAILABLE` and `AbortError`. */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  return await openLedgerWith({ ...options, keepsOwnVectors: true });
}

/** Also returns the calls of the store extension, and options for tests. */
export async function openLedgerWith<Companion = unknown>(options: ThreadOptions): Promise<Ledger & Remote<Companion>> {
  return ledgerOf<Companion>(await openThread(options), options.locksDir !== undefined);
}

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
    // Each answer reports its revision.
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

/** Options for a store extension and for tests. */
export interface ThreadOptions extends LedgerOptions, Pick<OpenOptions, "companion" | "keepsOwnVectors"> {
  busyTimeoutMs?: number | undefined;
}

export interface OpenedThread {
  client: WorkerClient;
  methods: readonly Method[];
  health(): IndexHealth;
}

const usualBusyTimeoutMs = 5000;

/** Opens a ledger in a shared or (`oneShot`) the caller's thread. Throws `UNAVAILABLE` and `AbortError`. */
export async function openThread(options: ThreadOptions): Promise<OpenedThread> {
  const { signal, oneShot = false, busyTimeoutMs = usualBusyTimeoutMs, ...others } = options;
  signal?.throwIfAborted();
  const what = `the index ${options.path}`;
  const isOwn = oneShot && existsSync(options.path);
  const thread = isOwn
    ? (await import("./thread/same-thread-ledger.ts")).openOwnThread()
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
