import type { EmbeddingFailure } from "./provider-error.ts";

/** A snapshot of recorded facts: what is set, what was last seen to work, and what failed with which words. */
export interface MemoryProviderStatus {
  /** The id of the memory plugin that answers. */
  backend: string;
  /** The embedding provider in use; `none` in keyword-only mode. */
  provider: string;
  model?: string | undefined;
  requestedProvider?: string | undefined;
  files?: number | undefined;
  chunks?: number | undefined;
  /** Whether files have changed since the last sync, as far as is known: absent until a sync has looked at them. */
  dirty?: boolean | undefined;
  workspaceDir?: string | undefined;
  dbPath?: string | undefined;
  extraPaths?: readonly (string | { path: string; pattern?: string | undefined })[] | undefined;
  sources?: readonly MemorySource[] | undefined;
  sourceCounts?: readonly SourceCount[] | undefined;
  /** Each place that was examined, and why it was skipped where it was. */
  roots?: readonly MemoryRootStatus[] | undefined;
  /** As the last scan has found them; absent until one was made. */
  excluded?: ExcludedNotes | undefined;
  cache?: { enabled: boolean; entries?: number | undefined; maxEntries?: number | undefined } | undefined;
  fts?: { enabled: boolean; available: boolean; error?: string | undefined } | undefined;
  fallback?: MemoryFallback | undefined;
  /** The reranker that is asked for; without an `id` it could not be opened. Absent if none is asked for. */
  rerank?:
    | {
        requested: string;
        reason: string;
        id?: string | undefined;
        model?: string | undefined;
        host?: string | undefined;
        keySource?: string | undefined;
      }
    | undefined;
  /** What answers while the memory plugin is unavailable, and whether it was opened already. */
  spare?: { backend: string; open: boolean } | undefined;
  vector?:
    | {
        enabled: boolean;
        /** Absent until it was tried. */
        available?: boolean | undefined;
        /** Whether the store can compare vectors, with or without an extension that makes it fast. */
        storeAvailable?: boolean | undefined;
        semanticAvailable?: boolean | undefined;
        /** `unverified` until they were counted. */
        index?: { state: "empty" | "complete" | "incomplete" | "unverified" } | undefined;
        /** Engine of the last or next vector comparison, such as `wasm`, `sqlite-vec` or `exact`. */
        engine?: string | undefined;
        extensionPath?: string | undefined;
        /** The loader's own words. */
        loadError?: string | undefined;
        dims?: number | undefined;
        /** Chunks of the active vector space that have their vector. */
        embedded?: number | undefined;
      }
    | undefined;
  embedding?: EmbeddingStatus | undefined;
  storage?: StorageStatus | undefined;
  batch?: BatchStatus | undefined;
  generation?: GenerationStatus | undefined;
  /** The current writer of the index, in this process or another. */
  writer?: WriterStatus | undefined;
  watch?: WatchStatus | undefined;
  freshness?: FreshnessStatus | undefined;
  lastSync?: LastSync | undefined;
  lastSyncError?: string | undefined;
  /** The last error and its time (ISO 8601). */
  lastError?: { message: string; at: string } | undefined;
  custom?:
    | ({
        searchMode?: "hybrid" | "keyword" | "vector" | undefined;
        /** Why there is no embedding provider, and how to add one. */
        providerUnavailableReason?: string | undefined;
        /** Notices for the user, one line each. */
        notices?: readonly string[] | undefined;
        /** Remarks about the index and its place that need no action. */
        remarks?: readonly string[] | undefined;
      } & Record<string, unknown>)
    | undefined;
}

export interface SourceCount {
  source: MemorySource;
  files: number;
  chunks: number;
  /** Bytes of the files, and of the texts of their chunks. */
  bytes?: number | undefined;
  chunkBytes?: number | undefined;
  /** Files that the last look found; null until one was made. */
  eligible?: number | null | undefined;
  /** Changed files that are not indexed yet: transcripts below the thresholds of `sync.sessions`. */
  waiting?: number | undefined;
  /** What of this source was skipped or failed, and why. */
  issues?: readonly string[] | undefined;
}

export interface StorageStatus {
  databaseBytes: number;
  walBytes: number;
  /** Free pages inside the database, which `memory compact` gives back. */
  reusableBytes?: number | undefined;
  embeddingCacheBytes?: number | undefined;
  embeddingCacheEntries?: number | undefined;
}

export interface BatchStatus {
  enabled: boolean;
  wait: boolean;
  concurrency: number;
  pollIntervalMs: number;
  timeoutMs: number;
  /** Failures in a row after which batches would be given up; null: they never are. */
  limit: number | null;
  /** Failures in a row, of the last fill, and what the last one said. */
  failures: number;
  lastError?: string | undefined;
  lastProvider?: string | undefined;
}

/** The index version in use, and the one being built. */
export interface GenerationStatus {
  id: number;
  /** ISO 8601; absent if unknown. */
  builtAt?: string | undefined;
  next?:
    | {
        id: number;
        startedAt: string;
        /** Files that are in it, of how many that are there. */
        files: number;
        totalFiles?: number | undefined;
        /** Why it does not take over yet. */
        waitingFor?: string | undefined;
      }
    | undefined;
}

/** A process that holds the write lock for long. */
export interface WriterStatus {
  pid: number;
  host?: string | undefined;
  reason: string;
  /** ISO 8601. */
  since: string;
  completed?: number | undefined;
  total?: number | undefined;
  label?: string | undefined;
}

/** How changes are noticed between searches. `off`: only a search, a sync or the interval looks. */
export interface WatchStatus {
  mode: "off" | "folders" | "recursive";
  /** Why it is off, or watches less than it should. */
  reason?: string | undefined;
  /** Folders or roots that are watched. */
  folders?: number | undefined;
}

/** How the last search checked freshness. `events`: watcher. `sweep`: full scan. `sync`: no check. */
export interface FreshnessStatus {
  by: "events" | "sweep" | "sync";
  /** Why it is not by events. */
  reason?: string | undefined;
}

export interface LastSync {
  /** What asked for it: `cli`, `search`, `watch`. For people to read. */
  reason: string;
  /** ISO 8601. */
  finishedAt: string;
  durationMs: number;
  report: SyncReport;
}

export interface MemoryRootStatus {
  path: string;
  state: "indexed" | "skipped";
  files?: number | undefined;
  reason?: string | undefined;
  /** Of a folder of notes: what is in it and is no note. */
  leftOut?: readonly LeftOut[] | undefined;
}

/** Files excluded from a folder of notes, by reason. An excluded folder counts as one. */
export interface LeftOut {
  reason: "ignored" | "hidden" | "tool" | "link" | "other";
  files: number;
  folders: number;
}

export interface EmbeddingStatus {
  /** Why this provider, or why none. */
  reason: string;
  /** What `auto` looked at before, with why it went on. */
  passedOver?: readonly { id: string; reason: string }[] | undefined;
  /** Where requests go and where the key came from; never the key. */
  host?: string | undefined;
  keySource?: string | undefined;
  /** How the last request of this process ended; absent before the first. */
  answered?: { ok: boolean; error?: string | undefined } | undefined;
  /** What is being done now: `downloading …`, `embedding`. */
  activity?: string | undefined;
  /** The vectors that searches are answered from while those of the present model are being made. */
  answeredBy?: { provider: string; model: string } | undefined;
  /** No request is made before `nextProbeAt` (ISO 8601), by any process. */
  circuit?: { kind: "rate" | "quota" | "auth"; reason: string; since: string; nextProbeAt: string } | undefined;
  /** Texts that the provider refuses: found by words only, until they change. At most the first hundred. */
  quarantined?: readonly (NoteLines & { reason: string })[] | undefined;
  /** Measured semantic weight: `weight` in keyword scores per standard deviation, `quality` 0 (chance) to 1. */
  meaning?: { weight: number; quality: number; pairs: number } | undefined;
  /** Why vectors are unusable (all the same), with the next step: only keyword search answers. */
  sameVectors?: string | undefined;
  /** Chunks without a vector, and why. */
  pending?: { chunks: number; reason: string } | undefined;
  budget?: { tokensPerDay: number; usedToday: number } | undefined;
  /** Batch jobs on their way. */
  jobs?: readonly { id: string; texts: number; submittedAt: string }[] | undefined;
}

/** A standby that answers instead of what was asked for. */
export interface MemoryFallback {
  from: string;
  to?: string | undefined;
  reason: string;
  /** When the standby took over, and before when what was asked for is not tried again (ISO 8601). */
  since?: string | undefined;
  retryAt?: string | undefined;
}

/** A kind of memory. `memory` is the Markdown files, `sessions` the transcripts; a plugin may add its own. */
export type MemorySource = "memory" | "sessions" | "journal" | (string & {});

/** What a sync did, in files. */
export interface SyncReport {
  added: number;
  changed: number;
  removed: number;
  unchanged: number;
  failed: SyncFailure[];
  /** Chunks without a vector yet, and why. `failure`: the embedding provider failed. */
  pendingVectors?: { chunks: number; reason: string; failure?: EmbeddingFailure | undefined } | undefined;
}

/** Lines of a file, 1-based and inclusive. */
export interface NoteLines {
  path: string;
  startLine: number;
  endLine: number;
}

export interface SyncFailure {
  path: string;
  /** What is wrong with the file and what to do about it. */
  reason: string;
}

/** Notes and folders that a search cannot reach: too large, undecodable, unreadable, linked, not downloaded. */
export interface ExcludedNotes {
  count: number;
  /** Each with what is wrong and what to do about it; in a search report the first three. */
  notes: readonly SyncFailure[];
  /** Further notes and folders, which `memorySearch.exclude` names. They are no condition of an answer. */
  byConfiguration: number;
}

export interface SyncProgress {
  completed: number;
  total: number;
  label?: string | undefined;
}
