import type { EmbeddingFailure } from "./provider-error.ts";

/** A snapshot of recorded facts: what is set, what was last seen to work, and what failed with which words. */
export interface MemoryProviderStatus {
  /** The id of the memory plugin that answers. */
  backend: string;
  /** The embedding provider in use; `none` in keyword-only mode. */
  provider: string;
  model?: string | undefined;
  /** The provider that the configuration asks for. */
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
        /** Whether questions are answered by vectors: there is a provider, and its vectors are there. */
        semanticAvailable?: boolean | undefined;
        /** `unverified` until they were counted. */
        index?: { state: "empty" | "complete" | "incomplete" | "unverified" } | undefined;
        /**
         * What has compared the vectors of the last search, or is going to, such as `wasm`, `sqlite-vec` or `exact`.
         */
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
  /** Who is at work on the index now, in this process or another. */
  writer?: WriterStatus | undefined;
  watch?: WatchStatus | undefined;
  freshness?: FreshnessStatus | undefined;
  lastSync?: LastSync | undefined;
  lastSyncError?: string | undefined;
  /** The last thing that went wrong, whatever it was, and when (ISO 8601). */
  lastError?: { message: string; at: string } | undefined;
  custom?:
    | ({
        searchMode?: "hybrid" | "keyword" | "vector" | undefined;
        /** Why there is no embedding provider, and how to add one. */
        providerUnavailableReason?: string | undefined;
        /** One line each: what a person should know and has not asked for. */
        notices?: readonly string[] | undefined;
        /** What is worth knowing of the index and its place, and nothing to see to. */
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
  /** Files with news that are not taken yet: transcripts that have grown by less than `sync.sessions` asks for. */
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

/** The settings of batch jobs, and how they went in this process. */
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

/** The complete build of the index that answers, and the one that is being made to take its place. */
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
  /** What is being worked on. */
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

/**
 * How the last search has made sure that it answers from the files as they are. `events`: the watcher has told of every
 * change, and nothing was scanned. `sweep`: all files were scanned. `sync`: no check, only a sync scans.
 */
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

/**
 * What a folder of notes leaves out, by the reason: `.gitignore` names it, its name begins with a dot, it is a folder
 * of a tool, a link, or not Markdown. A folder counts as one: nobody looks into it.
 */
export interface LeftOut {
  reason: "ignored" | "hidden" | "tool" | "link" | "other";
  files: number;
  folders: number;
}

/** How vectors are made, as far as it is known without asking anybody. */
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
  /**
   * What meaning is worth beside words, as it was measured on the notes: `weight` in keyword scores for one standard
   * deviation of cosine, `quality` from 0 (chance) to 1, of that many pairs of texts. Absent: it was not measured.
   */
  meaning?: { weight: number; quality: number; pairs: number } | undefined;
  /** The provider gives every text the same vector, so that words answer alone: in words, with what to do. */
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
  /**
   * Chunks whose vector is still to be made, with the reason. `failure` is set where the embedding provider failed, and
   * absent if it is not to blame: the budget of the day is spent, a batch job is under way.
   */
  pendingVectors?: { chunks: number; reason: string; failure?: EmbeddingFailure | undefined } | undefined;
}

/** Lines of a file, 1-based and inclusive. */
export interface NoteLines {
  /** Relative to the workspace, with `/`. */
  path: string;
  startLine: number;
  endLine: number;
}

export interface SyncFailure {
  path: string;
  /** What is wrong with the file and what to do about it. */
  reason: string;
}

/**
 * Notes and folders of notes that a search does not reach: too large, in an unknown encoding, not readable, behind a
 * link, not downloaded from a cloud.
 */
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
