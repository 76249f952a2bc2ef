import type { CallOptions, CallsOfMemory, NotePath } from "./calls.ts";
import type { MemoryHealth } from "./health.ts";
import type { AvailabilityProbe, MemoryReadResult, SessionTarget } from "./manager.ts";
import type { MemorySearchOptions, MemorySearchResult, SearchAnswer } from "./search.ts";
import type { MemoryProviderStatus, SyncProgress, SyncReport } from "./status.ts";

/** A read of a memory file. */
export type MemoryReadParams = NotePath & {
  /** First line, 1-based. Default: 1. */
  from?: number | undefined;
  /** Number of lines. Default: 120. */
  lines?: number | undefined;
  /** Key of the calling session. In a group, private notes are refused with `PATH_NOT_ALLOWED`. */
  sessionKey?: string | undefined;
  signal?: AbortSignal | undefined;
};

export interface MemorySyncParams {
  /** Cause, for people. Default: `application`. */
  reason?: string | undefined;
  /** True: reindexes unchanged files too. Default: false. */
  force?: boolean | undefined;
  /** Only these transcripts, regardless of thresholds. Absent: everything. */
  sessions?: readonly SessionTarget[] | undefined;
  /** False: throws `BUSY` if another process works on the same index. Default: true. */
  wait?: boolean | undefined;
  progress?: ((update: SyncProgress) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** An open memory. Calls throw `MemoryError`, or `AbortError` if aborted. */
export interface Memory extends CallsOfMemory {
  readonly agentId: string;
  /** Canonical absolute path. */
  readonly workspaceDir: string;
  /** Peers of direct chats that are the owner, see `audienceOf`. */
  readonly ownerAllowFrom: readonly string[];
  /** Searches and returns the results with their report. */
  ask(query: string, options?: MemorySearchOptions): Promise<SearchAnswer>;
  /** The results of `ask`, sorted by score or by `order`. */
  search(query: string, options?: MemorySearchOptions): Promise<MemorySearchResult[]>;
  /** Reads lines of a memory file. Throws `PATH_NOT_ALLOWED` for any other file. */
  readFile(params: MemoryReadParams): Promise<MemoryReadResult>;
  /** A snapshot of recorded facts. Never throws, also after `close`. */
  status(): MemoryProviderStatus;
  /** Indexes everything saved before the call. One sync runs at a time; concurrent callers share the next. */
  sync(params?: MemorySyncParams): Promise<SyncReport | undefined>;
  /** Health with reason and next step. `deep`: also checks the index and sends one embedding request. */
  health(options?: CallOptions & { deep?: boolean | undefined }): Promise<MemoryHealth>;
  /** Sends one request to the embedding provider. */
  probeEmbeddingAvailability(options?: CallOptions): Promise<AvailabilityProbe>;
  /** Whether the store can compare vectors. */
  probeVectorAvailability(options?: CallOptions): Promise<boolean>;
  /** Aborts running calls and frees everything. Idempotent. Later calls except `status` throw `CLOSED`. */
  close(): Promise<void>;
}
