import { existsSync } from "node:fs";
import { MemoryError } from "@memslot/core";
import type { IndexHealth } from "../../chunk-index.ts";
import type { LedgerOptions } from "../ledger.ts";
import type { OpenOptions } from "./protocol.ts";
import type { Method } from "./remote.ts";
import { SharedLedger } from "./shared-threads.ts";
import { clientOf, type WorkerClient } from "./worker-client.ts";

/** A ledger to be opened, and what is for the one who keeps tables of its own in it, or for tests. */
export interface ThreadOptions extends LedgerOptions {
  companion?: OpenOptions["companion"];
  busyTimeoutMs?: number | undefined;
  owesVectors?: boolean | undefined;
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
    ? (await import("./own-thread.ts")).openOwnThread()
    : // What is in memory alone would be lost in another thread.
      new SharedLedger(() => client.health()?.isTemporary !== true);
  const client: WorkerClient = clientOf(thread, what);
  try {
    const request: OpenOptions = { ...others, busyTimeoutMs };
    const methods = (await untilAborted(client.call("open", [request]), signal)) as Method[];
    const first = client.health();
    if (!first) throw new MemoryError("UNAVAILABLE", `the index ${options.path} opened without saying where it is`);
    return { client, methods, health: () => client.health() ?? first };
  } catch (error) {
    await client.close();
    throw error;
  }
}

async function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (!signal) return await work;
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (stop) signal.removeEventListener("abort", stop);
  }
}
