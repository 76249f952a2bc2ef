import { MemoryError } from "@memslot/core";
import type { ChunkIndex, IndexHealth, IndexVectorAnswer, VectorSpace } from "@memslot/indexing";
import type { IndexOwner } from "./file/owner.ts";
import type { Pieces } from "./pieces.ts";
import type { OpenOptions, StoreCalls, StoreMethod } from "./protocol.ts";
import { startWorker, type WorkerClient } from "./worker-client.ts";

export interface SqliteStoreOptions {
  /** Absolute path of the database file. It is made where it is missing, with its folder. */
  path: string;
  /** False: an index that is not there is not made on disk, only in memory for as long as it is open. */
  mayCreate?: boolean | undefined;
  /**
   * True: nobody else has a reason to put a file there, as in the state folder. One that is no database at all is then set
   * aside as a damaged index, where it is left untouched elsewhere.
   */
  isOwnPlace?: boolean | undefined;
  /** Whose notes it holds. A file that was made for another agent is not used. Absent: anybody's. */
  owner?: IndexOwner | undefined;
  /**
   * A folder for the locks that keep several processes from bringing this index up to date at once: the same for all of
   * them, and not that of the index, beside which nothing appears. Absent: the store has no leases.
   */
  locksDir?: string | undefined;
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
const longDeadlineMs = 900_000;
const busyTimeoutMs = 5000;

/**
 * Opens an index in a SQLite file, in a worker thread. A file that cannot be used (foreign, locked, read-only) is left
 * alone and the index is kept in memory; a damaged one is set aside and made anew: `health().notices` says so.
 * Throws `UNAVAILABLE` when SQLite itself does not load, and `AbortError` when `signal` is aborted.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<ChunkIndex> {
  return await openStore(options, {});
}

/** The vectors of an index, for another store of the same notes: what either has embedded, neither has to embed again. */
export interface VectorCache extends Pick<ChunkIndex, "spaces" | "putVectors" | "close"> {
  /** Of those of the hashes that have one. */
  vectorsOf(space: VectorSpace, hashes: readonly string[]): Promise<{ hash: string; vector: Float32Array }[]>;
  /** One line each: why the file itself is not used. */
  notices(): readonly string[];
}

/** Opens the vectors of an index, as `openSqliteStore` opens all of it. */
export async function openVectorCache(
  options: Pick<SqliteStoreOptions, "path" | "mayCreate" | "owner" | "cacheMaxEntries" | "signal">,
): Promise<VectorCache> {
  const client = await openClient({ ...options, vector: { enabled: false } }, {});
  return {
    spaces: () => client.call("spaces", [], { deadlineMs: readDeadlineMs }) as ReturnType<VectorCache["spaces"]>,
    vectorsOf: (space, hashes) =>
      client.call("vectorsOf", [space, hashes], { deadlineMs: readDeadlineMs }) as ReturnType<VectorCache["vectorsOf"]>,
    putVectors: (space, entries) => putVectors(client, space, entries),
    notices: () => client.health()?.notices ?? [],
    close: () => client.close(),
  };
}

export async function openStore(options: SqliteStoreOptions, faults: SqliteStoreFaults): Promise<ChunkIndex> {
  const client = await openClient(options, faults);
  const health = client.health();
  if (!health) {
    await client.close();
    throw new MemoryError("UNAVAILABLE", `the index ${options.path} opened without saying where it is`);
  }
  const { leases, ...store } = createClientStore(client, health);
  return options.locksDir === undefined ? store : { ...store, leases };
}

async function openClient(options: SqliteStoreOptions, faults: SqliteStoreFaults): Promise<WorkerClient> {
  const { path, signal } = options;
  signal?.throwIfAborted();
  const client = startWorker(new URL(import.meta.resolve("#worker")), `the index ${path}`);
  try {
    const request: OpenOptions = {
      path,
      mayCreate: options.mayCreate,
      isOwnPlace: options.isOwnPlace,
      owner: options.owner,
      locksDir: options.locksDir,
      vector: options.vector.extensionPath === undefined ? { enabled: options.vector.enabled } : { ...options.vector },
      cacheMaxEntries: options.cacheMaxEntries,
      busyTimeoutMs: faults.busyTimeoutMs ?? busyTimeoutMs,
      disableFts: faults.disableFts ?? false,
    };
    await untilAborted(client.call("open", [request], { deadlineMs: openDeadlineMs }), signal);
    return client;
  } catch (error) {
    await client.close();
    throw error;
  }
}

function createClientStore(client: WorkerClient, firstHealth: IndexHealth): ChunkIndex {
  function read<Method extends StoreMethod>(
    method: Method,
    ...args: Parameters<StoreCalls[Method]>
  ): Promise<ReturnType<StoreCalls[Method]>> {
    return client.call(method, args, { deadlineMs: readDeadlineMs }) as Promise<ReturnType<StoreCalls[Method]>>;
  }
  function write<Method extends StoreMethod>(
    method: Method,
    ...args: Parameters<StoreCalls[Method]>
  ): Promise<ReturnType<StoreCalls[Method]>> {
    return client.call(method, args, { deadlineMs: writeDeadlineMs }) as Promise<ReturnType<StoreCalls[Method]>>;
  }

  /** The worker answers other calls between the pieces. */
  function long<Method extends "check" | "repair" | "compact">(
    method: Method,
  ): Promise<StoreCalls[Method] extends () => Pieces<infer Result> ? Result : never> {
    return client.call(method, [], { deadlineMs: longDeadlineMs }) as ReturnType<typeof long<Method>>;
  }

  return {
    listFiles: () => read("listFiles"),
    replaceFiles: (files) => write("replaceFiles", files),
    touchFiles: (files) => write("touchFiles", files),
    removeFiles: (files) => write("removeFiles", files),
    revision: () => read("revision"),
    builds: {
      async start(name) {
        const build = await write("buildStart", name);
        return {
          listFiles: () => read("nextListFiles", build),
          replaceFiles: (files) => write("nextReplaceFiles", build, files),
          touchFiles: (files) => write("nextTouchFiles", build, files),
          removeFiles: (files) => write("nextRemoveFiles", build, files),
        };
      },
      finish: () => write("buildFinish"),
      abandon: () => write("buildAbandon"),
    },
    searchKeyword: (query) => read("searchKeyword", query),
    useSpace: (space) => write("useSpace", space),
    async searchVector(query) {
      const vector = query.vector.slice();
      return (await client.call("searchVector", [{ ...query, vector }], {
        deadlineMs: readDeadlineMs,
        transfer: [vector.buffer],
      })) as IndexVectorAnswer;
    },
    pendingVectors: (space, limit) => read("pendingVectors", space, limit),
    putVectors: (space, entries) => putVectors(client, space, entries),
    knownVectors: (space, hashes) => read("knownVectors", space, hashes),
    quarantine: (space, entries) => write("quarantine", space, entries),
    quarantined: (space, limit) => read("quarantined", space, limit),
    releaseQuarantine: (space) => write("releaseQuarantine", space),
    spaces: () => read("spaces"),
    spaceStats: (space, within) => read("spaceStats", space, within),
    probeVector: () => read("probeVector"),
    stats: () => read("stats"),
    leases: {
      acquire: (name, reason) => write("leaseAcquire", name, reason),
      release: (name) => write("leaseRelease", name),
      report: (progress) => write("leaseReport", progress),
      holder: (name) => read("leaseHolder", name),
    },
    upkeep: {
      check: () => long("check"),
      repair: () => long("repair"),
      compact: () => long("compact"),
      tables: () =>
        client.call("tables", [], { deadlineMs: longDeadlineMs }) as Promise<ReturnType<StoreCalls["tables"]>>,
      sample: (count) => read("sample", count),
      vectorOf: (space, hash) => read("vectorOf", space, hash),
    },
    health: () => client.health() ?? firstHealth,
    close: () => client.close(),
  };
}

async function putVectors(
  client: WorkerClient,
  space: VectorSpace,
  entries: readonly { hash: string; vector: Float32Array }[],
): Promise<void> {
  // Copies are handed over: the caller may go on with its own, and a part of a larger buffer would bring all of it.
  const copies = entries.map(({ hash, vector }) => ({ hash, vector: vector.slice() }));
  const transfer = copies.map(({ vector }) => vector.buffer);
  await client.call("putVectors", [space, copies], { deadlineMs: writeDeadlineMs, transfer });
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
