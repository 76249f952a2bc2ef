import type { ChunkIndex, FileTable, IndexUpkeep } from "../../chunk-index.ts";
import type { VectorSpace } from "../../chunk-store.ts";
import type { OpenedThread } from "./open-thread.ts";
import type { Pieces } from "./pieces.ts";
import type { StoreCalls, StoreMethod } from "./protocol.ts";

const readDeadlineMs = 30_000;
const writeDeadlineMs = 120_000;
const longDeadlineMs = 900_000;

type Call = <Method extends StoreMethod>(
  method: Method,
  ...args: Parameters<StoreCalls[Method]>
) => Promise<ReturnType<StoreCalls[Method]>>;

/** Ways to ask the thread of a ledger, by how long an answer may take. */
export interface ThreadCalls {
  read: Call;
  write: Call;
  /** The worker answers other calls between the pieces. */
  long<Method extends "check" | "repair" | "compact">(
    method: Method,
  ): Promise<StoreCalls[Method] extends () => Pieces<infer Result> ? Result : never>;
  /** A call of a companion. */
  ask<Result>(method: string, args: readonly unknown[], transfer?: ArrayBuffer[]): Promise<Result>;
}

/** What a ledger and an index that lies in one have in common. */
export type KeptCalls = Omit<
  ChunkIndex,
  "revision" | "builds" | "keepsVectors" | "searchKeyword" | "searchVector" | "probeVector"
> & { revision(): Promise<string> };

export function threadCalls({ client }: Pick<OpenedThread, "client">): ThreadCalls {
  const within =
    (deadlineMs: number): Call =>
    (method, ...args) =>
      client.call(method, args, { deadlineMs }) as never;
  return {
    read: within(readDeadlineMs),
    write: within(writeDeadlineMs),
    long: (method) => client.call(method, [], { deadlineMs: longDeadlineMs }) as never,
    ask: (method, args, transfer = []) => client.call(method, args, { deadlineMs: readDeadlineMs, transfer }) as never,
  };
}

/** `hasLeases` is false where nobody has said where their locks lie. */
export function keptCalls(thread: OpenedThread, hasLeases: boolean): KeptCalls {
  const { read, write } = threadCalls(thread);
  const leases: NonNullable<ChunkIndex["leases"]> = {
    acquire: (name, reason) => write("leaseAcquire", name, reason),
    release: (name) => write("leaseRelease", name),
    report: (progress) => write("leaseReport", progress),
    holder: (name) => read("leaseHolder", name),
  };
  return {
    listFiles: () => read("listFiles"),
    replaceFiles: (files) => write("replaceFiles", files),
    touchFiles: (files) => write("touchFiles", files),
    removeFiles: (files) => write("removeFiles", files),
    revision: () => read("revision"),
    useSpace: (space) => write("useSpace", space),
    pendingVectors: (space, limit) => read("pendingVectors", space, limit),
    putVectors: (space, entries) => putVectors(thread, space, entries),
    knownVectors: (space, hashes) => read("knownVectors", space, hashes),
    quarantine: (space, entries) => write("quarantine", space, entries),
    quarantined: (space, limit) => read("quarantined", space, limit),
    releaseQuarantine: (space) => write("releaseQuarantine", space),
    spaces: () => read("spaces"),
    spaceStats: (space, within) => read("spaceStats", space, within),
    stats: () => read("stats"),
    ...(hasLeases && { leases }),
    upkeep: upkeepCalls(thread),
    health: () => thread.health(),
    close: () => thread.client.close(),
  };
}

function upkeepCalls(thread: OpenedThread): IndexUpkeep {
  const { read, long } = threadCalls(thread);
  return {
    check: () => long("check"),
    repair: () => long("repair"),
    compact: () => long("compact"),
    tables: () => thread.client.call("tables", [], { deadlineMs: longDeadlineMs }) as ReturnType<IndexUpkeep["tables"]>,
    sample: (count) => read("sample", count),
    vectorOf: (space, hash) => read("vectorOf", space, hash),
  };
}

/** The files of a build, by the number that `buildStart` has given. */
export function buildCalls(thread: OpenedThread, build: number): FileTable {
  const { read, write } = threadCalls(thread);
  return {
    listFiles: () => read("nextListFiles", build),
    replaceFiles: (files) => write("nextReplaceFiles", build, files),
    touchFiles: (files) => write("nextTouchFiles", build, files),
    removeFiles: (files) => write("nextRemoveFiles", build, files),
  };
}

async function putVectors(
  { client }: Pick<OpenedThread, "client">,
  space: VectorSpace,
  entries: readonly { hash: string; vector: Float32Array }[],
): Promise<void> {
  // Copies are handed over: the caller may go on with its own, and a part of a larger buffer would bring all of it.
  const copies = entries.map(({ hash, vector }) => ({ hash, vector: vector.slice() }));
  const transfer = copies.map(({ vector }) => vector.buffer);
  await client.call("putVectors", [space, copies], { deadlineMs: writeDeadlineMs, transfer });
}
