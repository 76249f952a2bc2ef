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
