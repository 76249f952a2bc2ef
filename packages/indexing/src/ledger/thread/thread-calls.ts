import type { ChunkIndex, FileTable, IndexUpkeep, MappedPassages } from "../../chunk-index.ts";
import type { VectorSpace } from "../../chunk-store.ts";
import type { OpenedThread } from "./open-thread.ts";
import type { Pieces } from "./pieces.ts";
import type { StoreCalls, StoreMethod } from "./protocol.ts";

/** For a call that goes through all of a large file. */
const longStuckMs = 900_000;

type Call = <Method extends StoreMethod>(
  method: Method,
  ...args: Parameters<StoreCalls[Method]>
) => Promise<ReturnType<StoreCalls[Method]>>;

/** Ways to ask the thread of a ledger. */
export interface ThreadCalls {
  call: Call;
  /** The worker answers other calls between the pieces. */
  long<Method extends "check" | "repair" | "compact">(
    method: Method,
  ): Promise<StoreCalls[Method] extends () => Pieces<infer Result> ? Result : never>;
}

/** What a ledger and an index that lies in one have in common. */
export type KeptCalls = Omit<
  ChunkIndex,
  "revision" | "builds" | "keepsVectors" | "searchKeyword" | "searchVector" | "probeVector"
> & { revision: NonNullable<ChunkIndex["revision"]> };

export function threadCalls({ client }: Pick<OpenedThread, "client">): ThreadCalls {
  return {
    call: (method, ...args) => client.call(method, args) as never,
    long: (method) => client.call(method, [], { deadlineMs: longStuckMs }) as never,
  };
}

/** `hasLeases` is false where nobody has said where their locks lie. */
export function keptCalls(thread: OpenedThread, hasLeases: boolean): KeptCalls {
  const { call } = threadCalls(thread);
  const leases: NonNullable<ChunkIndex["leases"]> = {
    acquire: (name, reason) => call("leaseAcquire", name, reason),
    release: (name) => call("leaseRelease", name),
    report: (progress) => call("leaseReport", progress),
    holder: (name) => call("leaseHolder", name),
  };
  return {
    listFiles: () => call("listFiles"),
    replaceFiles: (files) => call("replaceFiles", files),
    touchFiles: (files) => call("touchFiles", files),
    removeFiles: (files) => call("removeFiles", files),
    listChunks: (asked) => call("listChunks", asked),
    // Each answer says which state of the files it is of.
    revision: async (how) => (how?.fresh === true ? undefined : thread.health().revision) ?? (await call("revision")),
    useSpace: (space) => call("useSpace", space),
    pendingVectors: (space, limit) => call("pendingVectors", space, limit),
    putVectors: (space, entries) => putVectors(thread, space, entries),
    knownVectors: (space, hashes) => call("knownVectors", space, hashes),
    quarantine: (space, entries) => call("quarantine", space, entries),
    quarantined: (space, limit) => call("quarantined", space, limit),
    releaseQuarantine: (space) => call("releaseQuarantine", space),
    spaces: () => call("spaces"),
    spaceStats: (space, within) => call("spaceStats", space, within),
    stats: () => call("stats"),
    ...(hasLeases && { leases }),
    upkeep: upkeepCalls(thread),
    spaceFacts: {
      sampleVectors: (space, count) => call("sampleVectors", space, count),
      mapPassages: (asked) =>
        thread.client.call("mapPassages", [asked], { deadlineMs: longStuckMs }) as Promise<MappedPassages>,
      note: (name, value) => call("note", name, value),
      noted: (name) => call("noted", name),
    },
    health: () => thread.health(),
    close: () => thread.client.close(),
  };
}

function upkeepCalls(thread: OpenedThread): IndexUpkeep {
  const { call, long } = threadCalls(thread);
  return {
    check: () => long("check"),
    repair: () => long("repair"),
    compact: () => long("compact"),
    tables: () => thread.client.call("tables", [], { deadlineMs: longStuckMs }) as ReturnType<IndexUpkeep["tables"]>,
    sample: (count) => call("sample", count),
    vectorOf: (space, hash) => call("vectorOf", space, hash),
  };
}

/** The files of a build, by the number that `buildStart` has given. */
export function buildCalls(thread: OpenedThread, build: number): FileTable {
  const { call } = threadCalls(thread);
  return {
    listFiles: () => call("nextListFiles", build),
    replaceFiles: (files) => call("nextReplaceFiles", build, files),
    touchFiles: (files) => call("nextTouchFiles", build, files),
    removeFiles: (files) => call("nextRemoveFiles", build, files),
  };
}

async function putVectors(
  { client }: Pick<OpenedThread, "client">,
  space: VectorSpace,
  entries: readonly { hash: string; vector: Float32Array }[],
): Promise<void> {
  // A part of a larger buffer would bring all of it.
  await client.call("putVectors", [space, entries.map(({ hash, vector }) => ({ hash, vector: vector.slice() }))]);
}
