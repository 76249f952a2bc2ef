import type { CallsOfManager } from "./calls.ts";
import type { ManagerSearchOptions, MemorySearchResult, SessionAudience } from "./search.ts";
import type { MemoryProviderStatus, SyncProgress, SyncReport } from "./status.ts";

/** Lines of a memory file. */
export interface MemoryReadResult {
  /** `not_found`: the file does not exist. */
  status: "ok" | "not_found";
  /** The lines, joined by line feeds; empty if not found. */
  text: string;
  /** Path of the file that was read. */
  path: string;
  /** True: fewer lines than requested were returned, because of their size. */
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
  /** Path of the file as results have it. */
  relPath: string;
  /** First line, 1-based. */
  from: number;
  /** Number of lines, 1 or more. */
  lines: number;
  /** `shared`: private notes are refused with `PATH_NOT_ALLOWED`. */
  audience: SessionAudience;
  signal: AbortSignal;
}

/** A session transcript to sync. */
export interface SessionTarget {
  sessionId: string;
  sessionKey?: string | undefined;
}

/** A sync as a manager receives it. */
export interface ManagerSyncParams {
  /** Cause: `cli`, `search`, `session-start`, `watch`, `interval`, `compaction`. For people. */
  reason: string;
  /** True: reindexes unchanged files too. */
  force: boolean;
  /** Only these transcripts, regardless of thresholds. Absent: everything. */
  sessions?: readonly SessionTarget[] | undefined;
  /** False: throws `BUSY` if another process works on this index. */
  wait: boolean;
  /** To be called at least every ten minutes; a sync without progress is aborted. */
  progress: (update: SyncProgress) => void;
  signal: AbortSignal;
}

/** Result of one real request to the embedding provider. */
export interface AvailabilityProbe {
  ok: boolean;
  /** Why it failed. */
  error?: string | undefined;
  /** Milliseconds from request to vector. */
  latencyMs?: number | undefined;
  /** Length of the vector. */
  dimensions?: number | undefined;
}

/** Abilities of a manager. The conformance kit skips only the checks of a missing ability. */
export interface MemoryCapabilities {
  /** Keyword search: finds words, identifiers and CJK text as written. */
  keyword: boolean;
  /** Vector search, if an embedding provider is given. */
  vector: boolean;
  /** Has its own index, which `sync` updates. */
  ownsIndex: boolean;
}

/** What a memory plugin opens. The guard checks arguments, deadlines and concurrency. */
export interface MemorySearchManager extends CallsOfManager {
  readonly capabilities: MemoryCapabilities;
  /** Results sorted by score or in the reported order. Reports through `options.onDebug`. */
  search(query: string, options: ManagerSearchOptions): Promise<MemorySearchResult[]>;
  /** Reads lines of a memory file. Throws `PATH_NOT_ALLOWED` for any other file. */
  readFile(params: ManagerReadParams): Promise<MemoryReadResult>;
  /** A snapshot of recorded facts. Never throws and does no I/O. */
  status(): MemoryProviderStatus;
  /** Updates the index. Absent if there is none. Calls never overlap. */
  sync?(params: ManagerSyncParams): Promise<SyncReport | undefined>;
  /** Sends one embedding request. */
  probeEmbeddingAvailability(signal: AbortSignal): Promise<AvailabilityProbe>;
  /** Whether the store can compare vectors. */
  probeVectorAvailability(signal: AbortSignal): Promise<boolean>;
  /** Frees everything. Called once, after every running call has ended or was aborted. */
  close?(): Promise<void>;
}
