import type { CallOptions, CallsOfMemory, NotePath } from "./calls.ts";
import type { MemoryHealth } from "./health.ts";
import type { AvailabilityProbe, MemoryReadResult, SessionTarget } from "./manager.ts";
import type { MemorySearchOptions, MemorySearchResult, SearchAnswer } from "./search.ts";
import type { MemoryProviderStatus, SyncProgress, SyncReport } from "./status.ts";

export type MemoryReadParams = NotePath & {
  /** First line, 1-based; 1 if omitted. */
  from?: number | undefined;
  /** Number of lines; 120 if omitted. */
  lines?: number | undefined;
  /** As in a search: private notes are refused where the session is a group. */
  sessionKey?: string | undefined;
  signal?: AbortSignal | undefined;
};

export interface MemorySyncParams {
  reason?: string | undefined;
  force?: boolean | undefined;
  /** Only these transcripts, regardless of thresholds. */
  sessions?: readonly SessionTarget[] | undefined;
  /** False: throws `BUSY` if another process is at work on the same index; true if omitted. */
  wait?: boolean | undefined;
  progress?: ((update: SyncProgress) => void) | undefined;
  signal?: AbortSignal | undefined;
}

export interface Memory extends CallsOfMemory {
  readonly agentId: string;
  readonly workspaceDir: string;
  /** The peers of direct chats that are the owner, see `audienceOf`. */
  readonly ownerAllowFrom: readonly string[];
  /** A search with its report. Takes and throws what `search` does. */
  ask(query: string, options?: MemorySearchOptions): Promise<SearchAnswer>;
  /** The results of `ask`, sorted by score or `order`. Throws `MemoryError`, or `AbortError` if aborted. */
  search(query: string, options?: MemorySearchOptions): Promise<MemorySearchResult[]>;
  readFile(params: MemoryReadParams): Promise<MemoryReadResult>;
  /** Never throws, also after `close`. */
  status(): MemoryProviderStatus;
  /** Indexes everything saved before the call. One sync runs at a time; concurrent callers share the next. */
  sync(params?: MemorySyncParams): Promise<SyncReport | undefined>;
  /** Health with reason and next step. Sends nothing unless `deep`: then one embedding request, and an index check. */
  health(options?: CallOptions & { deep?: boolean | undefined }): Promise<MemoryHealth>;
  probeEmbeddingAvailability(options?: CallOptions): Promise<AvailabilityProbe>;
  probeVectorAvailability(options?: CallOptions): Promise<boolean>;
  /** Idempotent. Every later call but `status` and `close` throws `CLOSED`. */
  close(): Promise<void>;
}
