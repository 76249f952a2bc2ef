import type { MemoryFallback, MemorySource, SyncReport } from "./manager.ts";

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
  sourceCounts?: readonly { source: MemorySource; files: number; chunks: number }[] | undefined;
  /** Each place that was looked at, and why it was passed over where it was. */
  roots?: readonly MemoryRootStatus[] | undefined;
  cache?: { enabled: boolean; entries?: number | undefined; maxEntries?: number | undefined } | undefined;
  fts?: { enabled: boolean; available: boolean; error?: string | undefined } | undefined;
  fallback?: MemoryFallback | undefined;
  vector?:
    | {
        enabled: boolean;
        /** Absent until it was tried. */
        available?: boolean | undefined;
        extensionPath?: string | undefined;
        /** The loader's own words. */
        loadError?: string | undefined;
        dims?: number | undefined;
        /** Chunks of the active vector space that have their vector. */
        embedded?: number | undefined;
      }
    | undefined;
  embedding?: EmbeddingStatus | undefined;
  storage?: { databaseBytes: number; walBytes: number } | undefined;
  lastSync?: { finishedAt: string; report: SyncReport } | undefined;
  lastSyncError?: string | undefined;
  custom?:
    | ({
        searchMode?: "hybrid" | "keyword" | "vector" | undefined;
        /** Why there is no embedding provider, and how to add one. */
        providerUnavailableReason?: string | undefined;
        /** One line each: what a person should know and has not asked for. */
        notices?: readonly string[] | undefined;
      } & Record<string, unknown>)
    | undefined;
}

export interface MemoryRootStatus {
  path: string;
  state: "indexed" | "skipped";
  files?: number | undefined;
  reason?: string | undefined;
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
  /** What is being done now: `downloading …`, `embedding`. */
  activity?: string | undefined;
  /** The vectors that searches are answered from while those of the present model are being made. */
  answeredBy?: { provider: string; model: string } | undefined;
  /** No request is made before `nextProbeAt` (ISO 8601), by any process. */
  circuit?: { kind: "rate" | "quota" | "auth"; reason: string; since: string; nextProbeAt: string } | undefined;
  /** Texts that the provider refuses: found by words only, until they change. At most the first hundred. */
  quarantined?: readonly { path: string; startLine: number; endLine: number; reason: string }[] | undefined;
  /** Chunks without a vector, and why. */
  pending?: { chunks: number; reason: string } | undefined;
  budget?: { tokensPerDay: number; usedToday: number } | undefined;
  /** Batch jobs on their way. */
  jobs?: readonly { id: string; texts: number; submittedAt: string }[] | undefined;
}
