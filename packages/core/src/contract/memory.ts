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
  /** Look at the transcripts of these sessions only, and take them whatever the thresholds say. */
  sessions?: readonly SessionTarget[] | undefined;
  /** False: throws `BUSY` if another process is at work on the same index; true if omitted. */
  wait?: boolean | undefined;
  progress?: ((update: SyncProgress) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** What an application calls. `openMemory` gives one. Its calls about the index are those of `IndexCalls`. */
export interface Memory extends CallsOfMemory {
  readonly agentId: string;
  readonly workspaceDir: string;
  /** The peers of direct chats that are the owner, see `audienceOf`. */
  readonly ownerAllowFrom: readonly string[];
  /** A search with its report. Takes and throws what `search` does. */
  ask(query: string, options?: MemorySearchOptions): Promise<SearchAnswer>;
  /**
   * The results of `ask`, whose report goes to `onDebug`. Results sorted by score, or as `order` says. `"a phrase"`,
   * `-word`, `path:`, `tag:`, `source:`, `after:` and `before:` in the query are filters. `[]` for a blank query
   * without days. Throws `MemoryError`, or `AbortError` when aborted.
   */
  search(query: string, options?: MemorySearchOptions): Promise<MemorySearchResult[]>;
  readFile(params: MemoryReadParams): Promise<MemoryReadResult>;
  /** Never throws, also after `close`. */
  status(): MemoryProviderStatus;
  /**
   * What was saved before the call is found after it. One sync runs at a time; callers that come meanwhile share the
   * next.
   */
  sync(params?: MemorySyncParams): Promise<SyncReport | undefined>;
  /**
   * Whether answers can be relied on, with the reason and the next step. Opens the notes, and sends nothing unless
   * `deep`: then the index is checked and the embedding provider gets one small request.
   */
  health(options?: CallOptions & { deep?: boolean | undefined }): Promise<MemoryHealth>;
  probeEmbeddingAvailability(options?: CallOptions): Promise<AvailabilityProbe>;
  probeVectorAvailability(options?: CallOptions): Promise<boolean>;
  /** Idempotent. Every later call but `status` and `close` throws `CLOSED`. */
  close(): Promise<void>;
}
