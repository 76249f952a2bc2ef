import {
  type Memory,
  MemoryError,
  type MemoryProviderStatus,
  type MemorySearchResult,
  type SearchReport,
  type SyncProgress,
} from "@memslot/core";

interface HostSearchOptions {
  maxResults?: number;
  minScore?: number;
  sessionKey?: string;
  sources?: readonly string[];
  signal?: AbortSignal;
  onDebug?: (debug: object) => void;
}

/** The host's `MemorySearchManager`, answered by a memory. */
export interface HostManager {
  search(query: string, options?: HostSearchOptions): Promise<MemorySearchResult[]>;
  readFile(params: { relPath: string; from?: number; lines?: number }): Promise<object>;
  status(): HostStatus;
  sync(params?: { reason?: string; force?: boolean; progress?: (update: SyncProgress) => void }): Promise<void>;
  probeEmbeddingAvailability(): Promise<object>;
  probeVectorAvailability(): Promise<boolean>;
  probeVectorStoreAvailability(): Promise<boolean>;
  close(): Promise<void>;
}

/** `close` calls `release`: a shared memory stays open. */
export function hostManager(memory: Memory, release: () => Promise<void>): HostManager {
  return {
    search: async (query, options = {}) => {
      const { sources, onDebug, signal, sessionKey } = options;
      // The host passes an empty list for no sources; memory would refuse it.
      if (sources?.length === 0 || (sources !== undefined && !sources.includes("memory"))) return [];
      return memory.search(query, {
        ...withinLimits(options),
        sources: ["memory"],
        sessionKey,
        signal,
        onDebug: (report) => onDebug?.(debugOf(report)),
      });
    },
    readFile: async (params) => {
      try {
        return await memory.readFile(params);
      } catch (error) {
        if (!MemoryError.is(error, "PATH_NOT_ALLOWED")) throw error;
        throw Object.assign(new Error(error.message, { cause: error }), { code: "MEMORY_PATH_NOT_ALLOWED" });
      }
    },
    status: () => hostStatus(memory),
    sync: async ({ reason, force, progress } = {}) => {
      await memory.sync({ reason, force, progress });
    },
    probeEmbeddingAvailability: async () => ({
      ...(await memory.probeEmbeddingAvailability()),
      checked: true,
      checkedAtMs: Date.now(),
    }),
    probeVectorAvailability: () => memory.probeVectorAvailability(),
    probeVectorStoreAvailability: () => memory.probeVectorAvailability(),
    close: release,
  };
}

/** The status of a memory in the host's fields. */
export type HostStatus = Omit<MemoryProviderStatus, "batch"> & { batch?: object };

/** The status with the host's only backend in it; it has no word for batches that are never given up. */
export function hostStatus(memory: Memory): HostStatus {
  const { batch, ...status } = memory.status();
  return {
    ...status,
    backend: "builtin",
    ...(batch !== undefined && { batch: { ...batch, limit: batch.limit ?? 0 } }),
  };
}

/** Clamps values from a model or user, which memory would refuse. */
export function withinLimits({ maxResults, minScore }: { maxResults?: number; minScore?: number }): {
  maxResults: number | undefined;
  minScore: number | undefined;
} {
  return {
    maxResults: clamped(maxResults === undefined ? undefined : Math.trunc(maxResults), 1, 200),
    minScore: clamped(minScore, 0, 1),
  };
}

function clamped(value: number | undefined, least: number, most: number): number | undefined {
  return value === undefined || Number.isNaN(value) ? undefined : Math.min(most, Math.max(least, value));
}

function debugOf({ mode, fallback }: SearchReport): object {
  const effectiveMode = mode === "keyword" ? "fts-only" : mode;
  return { backend: "builtin", configuredMode: "hybrid", effectiveMode, fallback: fallback?.reason };
}
