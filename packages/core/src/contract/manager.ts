import type { CallsOfManager } from "./calls.ts";
import type { ManagerSearchOptions, MemorySearchResult, SessionAudience } from "./search.ts";
import type { MemoryProviderStatus, SyncProgress, SyncReport } from "./status.ts";

export interface MemoryReadResult {
  status: "ok" | "not_found";
  text: string;
  path: string;
  truncated?: boolean | undefined;
  /** First line returned, 1-based. */
  from?: number | undefined;
  /** Number of lines returned. */
  lines?: number | undefined;
  /** First line that was not returned. Set only when more remains. */
  nextFrom?: number | undefined;
}

/** A read as a manager receives it, with every option present. */
export interface ManagerReadParams {
  relPath: string;
  /** 1-based. */
  from: number;
  lines: number;
  /** `shared`: private notes are refused with `PATH_NOT_ALLOWED`. */
  audience: SessionAudience;
  signal: AbortSignal;
}

export interface SessionTarget {
  sessionId: string;
  sessionKey?: string | undefined;
}

export interface ManagerSyncParams {
  /** What asked for it: `cli`, `search`, `session-start`, `watch`, `interval`, `compaction`. For people to read. */
  reason: string;
  /** Rebuild even what has not changed. */
  force: boolean;
  /** Only these transcripts, regardless of thresholds. Absent: everything. */
  sessions?: readonly SessionTarget[] | undefined;
  /** False: another process that is at work on this index is not waited for; `BUSY` names it. */
  wait: boolean;
  progress: (update: SyncProgress) => void;
  signal: AbortSignal;
}

/** What one real request to the embedding provider has shown. */
export interface AvailabilityProbe {
  ok: boolean;
  error?: string | undefined;
  /** Milliseconds from request to vector. */
  latencyMs?: number | undefined;
  /** Numbers in the vector that came. */
  dimensions?: number | undefined;
}

/** What a manager can do. The conformance kit holds it to these and skips nothing else. */
export interface MemoryCapabilities {
  /** Finds words, identifiers and CJK text as they are written. */
  keyword: boolean;
  /** Finds by vectors when an embedding provider is given. */
  vector: boolean;
  /** Keeps an index of its own that `sync` brings up to date. */
  ownsIndex: boolean;
}

/** What a memory plugin opens. The guard checks arguments, deadlines and concurrency. */
export interface MemorySearchManager extends CallsOfManager {
  readonly capabilities: MemoryCapabilities;
  search(query: string, options: ManagerSearchOptions): Promise<MemorySearchResult[]>;
  /** Throws `PATH_NOT_ALLOWED` for anything but a memory file inside its roots. */
  readFile(params: ManagerReadParams): Promise<MemoryReadResult>;
  /** A synchronous snapshot of recorded facts. Never throws, never does I/O. */
  status(): MemoryProviderStatus;
  /** Brings the index up to date. Absent if there is no index. Never called twice at the same time. */
  sync?(params: ManagerSyncParams): Promise<SyncReport | undefined>;
  probeEmbeddingAvailability(signal: AbortSignal): Promise<AvailabilityProbe>;
  probeVectorAvailability(signal: AbortSignal): Promise<boolean>;
  /** Frees everything. Called once, after every running call has ended or was aborted. */
  close?(): Promise<void>;
}
