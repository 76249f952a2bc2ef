import type {
  AvailabilityProbe,
  MemoryReadResult,
  MemorySearchResult,
  MemorySource,
  SearchReport,
  SyncEstimate,
  SyncProgress,
  SyncReport,
} from "./manager.ts";
import type { MemoryProviderStatus } from "./status.ts";

/** Options of a search; what is left out comes from the agent's settings. */
export interface MemorySearchOptions {
  maxResults?: number | undefined;
  minScore?: number | undefined;
  sources?: readonly MemorySource[] | undefined;
  sessionKey?: string | undefined;
  signal?: AbortSignal | undefined;
  onDebug?: ((report: SearchReport) => void) | undefined;
}

export interface MemoryReadParams {
  relPath: string;
  /** First line, 1-based; 1 if left out. */
  from?: number | undefined;
  /** Number of lines; 120 if left out. */
  lines?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface MemorySyncParams {
  reason?: string | undefined;
  force?: boolean | undefined;
  progress?: ((update: SyncProgress) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** What an application calls. `openMemory` gives one. */
export interface Memory {
  readonly agentId: string;
  readonly workspaceDir: string;
  /** Results sorted by score. `[]` for a blank query. Throws `MemoryError`, or `AbortError` when aborted. */
  search(query: string, options?: MemorySearchOptions): Promise<MemorySearchResult[]>;
  readFile(params: MemoryReadParams): Promise<MemoryReadResult>;
  /** Never throws, also after `close`. */
  status(): MemoryProviderStatus;
  /** One sync runs at a time; a later caller joins it. A caller with `force` waits for it and starts its own. */
  sync(params?: MemorySyncParams): Promise<SyncReport | undefined>;
  /** What a sync would cost, without doing it. Undefined where the backend cannot tell. */
  estimate(options?: { signal?: AbortSignal | undefined }): Promise<SyncEstimate | undefined>;
  probeEmbeddingAvailability(options?: { signal?: AbortSignal | undefined }): Promise<AvailabilityProbe>;
  probeVectorAvailability(options?: { signal?: AbortSignal | undefined }): Promise<boolean>;
  /** Idempotent. Every later call but `status` and `close` throws `CLOSED`. */
  close(): Promise<void>;
}
