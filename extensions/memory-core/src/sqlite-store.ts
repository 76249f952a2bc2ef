import { MemoryError } from "@memslot/core";
import type { ChunkStore, StoreHealth } from "@memslot/indexing";
import type { OpenOptions, StoreMethod } from "./protocol.ts";
import { startWorker, type WorkerClient } from "./worker-client.ts";

export interface SqliteStoreOptions {
  /** Absolute path of the database file. It is made where it is missing, with its folder. */
  path: string;
  /** False: an index that is not there is not made on disk, only in memory for as long as it is open. */
  mayCreate?: boolean | undefined;
  /** sqlite-vec; where it is off or does not load, all vectors are compared one by one. */
  vector: { enabled: boolean; extensionPath?: string | undefined };
  /** Vectors to keep beside those of the chunks that are there. */
  cacheMaxEntries: number;
  /** Gives up opening. */
  signal?: AbortSignal | undefined;
}

/** For tests: faults that cannot be brought about from outside. */
export interface SqliteStoreFaults {
  disableFts?: boolean;
  busyTimeoutMs?: number;
}

const openDeadlineMs = 120_000;
const readDeadlineMs = 30_000;
const writeDeadlineMs = 120_000;
const busyTimeoutMs = 5000;

/**
 * Opens an index in a SQLite file, in a worker thread. A file that cannot be used (foreign, locked, read-only) is left
 * alone and the index is kept in memory; a damaged one is set aside and made anew: `health().notices` says so.
 * Throws `UNAVAILABLE` when SQLite itself does not load, and `AbortError` when `signal` is aborted.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<ChunkStore> {
  return await openStore(options, {});
}

export async function openStore(options: SqliteStoreOptions, faults: SqliteStoreFaults): Promise<ChunkStore> {
  const { path, signal } = options;
  signal?.throwIfAborted();
  const client = startWorker(new URL(import.meta.resolve("#worker")), `the index ${path}`);
  try {
    const request: OpenOptions = {
      path,
      mayCreate: options.mayCreate,
      vector: options.vector.extensionPath === undefined ? { enabled: options.vector.enabled } : { ...options.vector },
      cacheMaxEntries: options.cacheMaxEntries,
      busyTimeoutMs: faults.busyTimeoutMs ?? busyTimeoutMs,
      disableFts: faults.disableFts ?? false,
    };
    await untilAborted(client.call("open", [request], { deadlineMs: openDeadlineMs }), signal);
    const health = client.health();
    if (!health) throw new MemoryError("UNAVAILABLE", `the index ${path} opened without saying where it is`);
    return createClientStore(client, health);
  } catch (error) {
    await client.close();
    throw error;
  }
}

function createClientStore(client: WorkerClient, firstHealth: StoreHealth): ChunkStore {
  function read<Method extends StoreMethod>(
    method: Method,
    ...args: Parameters<ChunkStore[Method]>
  ): ReturnType<ChunkStore[Method]> {
    return client.call(method, args, { deadlineMs: readDeadlineMs }) as ReturnType<ChunkStore[Method]>;
  }
  function write<Method extends StoreMethod>(
    method: Method,
    ...args: Parameters<ChunkStore[Method]>
  ): ReturnType<ChunkStore[Method]> {
    return client.call(method, args, { deadlineMs: writeDeadlineMs }) as ReturnType<ChunkStore[Method]>;
  }

  return {
    listFiles: () => read("listFiles"),
    replaceFiles: (files) => write("replaceFiles", files),
    touchFiles: (files) => write("touchFiles", files),
    removeFiles: (files) => write("removeFiles", files),
    searchKeyword: (query) => read("searchKeyword", query),
    useSpace: (space) => write("useSpace", space),
    async searchVector(query) {
      const vector = query.vector.slice();
      return (await client.call("searchVector", [{ ...query, vector }], {
        deadlineMs: readDeadlineMs,
        transfer: [vector.buffer],
      })) as Awaited<ReturnType<ChunkStore["searchVector"]>>;
    },
    pendingVectors: (space, limit) => read("pendingVectors", space, limit),
    async putVectors(space, entries) {
      // Copies are handed over: the caller may go on with its own, and a part of a larger buffer would bring all of it.
      const copies = entries.map(({ hash, vector }) => ({ hash, vector: vector.slice() }));
      const transfer = copies.map(({ vector }) => vector.buffer);
      await client.call("putVectors", [space, copies], { deadlineMs: writeDeadlineMs, transfer });
    },
    knownVectors: (space, hashes) => read("knownVectors", space, hashes),
    quarantine: (space, entries) => write("quarantine", space, entries),
    quarantined: (space, limit) => read("quarantined", space, limit),
    releaseQuarantine: (space) => write("releaseQuarantine", space),
    spaces: () => read("spaces"),
    spaceStats: (space) => read("spaceStats", space),
    probeVector: () => read("probeVector"),
    stats: () => read("stats"),
    health: () => client.health() ?? firstHealth,
    close: () => client.close(),
  };
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
