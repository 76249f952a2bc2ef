import type { EmbeddingFailure } from "./provider-error.ts";
import type { Sentence, SentenceMeaning } from "./sentences.ts";

/** A snapshot of recorded facts: settings, last known states and errors. What is not known is absent. */
export interface MemoryProviderStatus {
  /** Id of the memory plugin that answers. */
  backend: string;
  /** The embedding provider in use; `none` in keyword-only mode. */
  provider: string;
  model?: string | undefined;
  /** Value of `memorySearch.provider`. */
  requestedProvider?: string | undefined;
  /** Indexed files and their chunks. */
  files?: number | undefined;
  chunks?: number | undefined;
  /** Whether files have changed since the last sync. Absent before the first scan. */
  dirty?: boolean | undefined;
  workspaceDir?: string | undefined;
  /** Absolute path of the index file. */
  dbPath?: string | undefined;
  extraPaths?: readonly (string | { path: string; pattern?: string | undefined })[] | undefined;
  sources?: readonly MemorySource[] | undefined;
  sourceCounts?: readonly SourceCount[] | undefined;
  /** Each scanned place, and why it was skipped if it was. */
  roots?: readonly MemoryRootStatus[] | undefined;
  /** Notes that are not indexed, from the last scan. Absent before the first. */
  excluded?: ExcludedNotes | undefined;
  cache?: { enabled: boolean; entries?: number | undefined; maxEntries?: number | undefined } | undefined;
  fts?: { enabled: boolean; available: boolean; error?: string | undefined } | undefined;
  fallback?: MemoryFallback | undefined;
  /** The configured reranker; without an `id` it could not be opened. Absent if none is configured. */
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
  /** The fallback backend, and whether it is open. */
  spare?: { backend: string; open: boolean } | undefined;
  vector?:
    | {
        enabled: boolean;
        /** Whether the accelerated vector index works. Absent before its first use. */
        available?: boolean | undefined;
        /** Whether the store can compare vectors, accelerated or not. */
        storeAvailable?: boolean | undefined;
        /** Whether vector search can answer now. */
        semanticAvailable?: boolean | undefined;
        /** Whether all chunks have a vector; `unverified` before they were counted. */
        index?: { state: "empty" | "complete" | "incomplete" | "unverified" } | undefined;
        /** Engine of the last or next vector comparison, such as `wasm`, `sqlite-vec` or `exact`. */
        engine?: string | undefined;
        extensionPath?: string | undefined;
        /** Error message of the loader. */
        loadError?: string | undefined;
        /** Vector length. */
        dims?: number | undefined;
        /** Number of chunks with a vector of the active space. */
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
  /** Why the last sync failed; absent if it succeeded. */
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

/** Indexed files of one source. */
export interface SourceCount {
  source: MemorySource;
  files: number;
  chunks: number;
  /** Size of the files. */
  bytes?: number | undefined;
  /** Size of the texts of their chunks. */
  chunkBytes?: number | undefined;
  /** Files found by the last scan; null before the first. */
  eligible?: number | null | undefined;
  /** Changed files that are not indexed yet: transcripts below the thresholds of `sync.sessions`. */
  waiting?: number | undefined;
  /** Skipped or failed parts of this source, with reasons. */
  issues?: readonly string[] | undefined;
}

/** Size of the index on disk. */
export interface StorageStatus {
  databaseBytes: number;
  walBytes: number;
  /** Free pages inside the database, which `memory compact` gives back. */
  reusableBytes?: number | undefined;
  embeddingCacheBytes?: number | undefined;
  embeddingCacheEntries?: number | undefined;
}

/** Settings and failures of batch embedding. */
export interface BatchStatus {
  enabled: boolean;
  wait: boolean;
  concurrency: number;
  pollIntervalMs: number;
  timeoutMs: number;
  /** Consecutive failures after which batches are abandoned; null: never. */
  limit: number | null;
  /** Consecutive failures of the last sync. */
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
        /** Indexed files, of `totalFiles`. */
        files: number;
        totalFiles?: number | undefined;
        /** Why it is not in use yet. */
        waitingFor?: string | undefined;
      }
    | undefined;
}

/** A process that writes to the index for long. */
export interface WriterStatus {
  pid: number;
  /** Absent on this machine. */
  host?: string | undefined;
  /** Cause of the work. */
  reason: string;
  /** ISO 8601. */
  since: string;
  /** Progress: completed of total, and the present item. */
  completed?: number | undefined;
  total?: number | undefined;
  label?: string | undefined;
}

/** How changes are noticed between searches. `off`: only by a search, a sync or the interval. */
export interface WatchStatus {
  mode: "off" | "folders" | "recursive";
  /** Why it is off or incomplete. */
  reason?: string | undefined;
  /** Number of watched folders or roots. */
  folders?: number | undefined;
}

/** How the last search checked freshness. `events`: watcher. `sweep`: full scan. `sync`: no check. */
export interface FreshnessStatus {
  by: "events" | "sweep" | "sync";
  /** Why not by events. */
  reason?: string | undefined;
}

export interface LastSync {
  /** Cause: `cli`, `search`, `watch`. For people. */
  reason: string;
  /** ISO 8601. */
  finishedAt: string;
  durationMs: number;
  report: SyncReport;
}

/** A file or folder that is scanned for memory files. */
export interface MemoryRootStatus extends SentenceMeaning {
  /** Relative to the workspace, or absolute. */
  path: string;
  state: "indexed" | "skipped";
  /** Number of memory files in it. */
  files?: number | undefined;
  /** Why it was skipped. */
  reason?: string | undefined;
  /** Excluded files in a folder of notes. */
  leftOut?: readonly LeftOut[] | undefined;
}

/** Number of files and folders excluded for one reason. An excluded folder counts as one. */
export interface LeftOut {
  reason: "ignored" | "hidden" | "tool" | "link" | "other";
  files: number;
  folders: number;
}

/** State of the embedding provider and its vectors. */
export interface EmbeddingStatus extends SentenceMeaning {
  /** Why this provider, or why none. */
  reason: string;
  /** Providers that `auto` rejected before, each with the reason. */
  passedOver?: readonly { id: string; reason: string }[] | undefined;
  /** Host of the requests. */
  host?: string | undefined;
  /** Where the key came from, such as `OPENAI_API_KEY`; never the key. */
  keySource?: string | undefined;
  /** Outcome of the last request of this process; absent before the first. */
  answered?: { ok: boolean; error?: string | undefined } | undefined;
  /** Present work: `downloading …`, `embedding`. */
  activity?: string | undefined;
  /** Vectors in use while those of the configured model are being created. */
  answeredBy?: { provider: string; model: string } | undefined;
  /** Cooldown after failures: no process sends a request before `nextProbeAt` (ISO 8601). */
  circuit?: (Sentence & { kind: "rate" | "quota" | "auth"; since: string; nextProbeAt: string }) | undefined;
  /** Texts that the provider refuses: only keyword search finds them until they change. At most 100. */
  quarantined?: readonly (NoteLines & { reason: string })[] | undefined;
  /** Measured semantic weight: `weight` in keyword scores per standard deviation, `quality` 0 (chance) to 1. */
  meaning?: { weight: number; quality: number; pairs: number } | undefined;
  /** Why vectors are unusable (all the same), with the next step. Only keyword search answers then. */
  sameVectors?: string | undefined;
  /** Number of chunks without a vector, and why. */
  pending?: (Sentence & { chunks: number }) | undefined;
  /** Daily token budget. Absent if there is none. */
  budget?: { tokensPerDay: number; usedToday: number } | undefined;
  /** Unfinished batch jobs. */
  jobs?: readonly { id: string; texts: number; submittedAt: string }[] | undefined;
}

/** A fallback that answers in place of the requested backend or provider. */
export interface MemoryFallback extends SentenceMeaning {
  /** Id of the requested one. */
  from: string;
  /** Id of the fallback. */
  to?: string | undefined;
  /** Why the requested one is unavailable. */
  reason: string;
  /** Since when the fallback answers (ISO 8601). */
  since?: string | undefined;
  /** When the requested one is tried again (ISO 8601). */
  retryAt?: string | undefined;
}

/** A source of memory: Markdown files, transcripts, dropped messages, or one of a plugin or another program. */
export type MemorySource = "memory" | "sessions" | "journal" | (string & {});

/** Result of a sync, in files. */
export interface SyncReport {
  added: number;
  changed: number;
  removed: number;
  unchanged: number;
  failed: SyncFailure[];
  /** Number of chunks without a vector, and why. `failure`: the embedding provider failed. */
  pendingVectors?: (Sentence & { chunks: number; failure?: EmbeddingFailure | undefined }) | undefined;
}

/** Lines of a file, 1-based and inclusive. */
export interface NoteLines {
  path: string;
  startLine: number;
  endLine: number;
}

/** `reason`: the problem of the file and the next step. */
export interface SyncFailure extends Sentence {
  path: string;
}

/** Notes and folders that cannot be indexed: too large, undecodable, unreadable, linked, not downloaded. */
export interface ExcludedNotes {
  count: number;
  /** Each with problem and next step; in a search report the first three. */
  notes: readonly SyncFailure[];
  /** Further notes and folders, excluded by `memorySearch.exclude`. They do not affect the state of answers. */
  byConfiguration: number;
}

/** Progress of a sync or a download. */
export interface SyncProgress {
  completed: number;
  total: number;
  /** Present item, such as a path. */
  label?: string | undefined;
}
