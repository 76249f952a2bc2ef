import {
  type ManagerSearchOptions,
  type ManagerSyncParams,
  type MemoryPluginContext,
  type MemoryProviderStatus,
  type MemoryRootStatus,
  type MemorySearchManager,
  type MemorySearchResult,
  messageOf,
  type SearchReport,
  type SyncReport,
} from "@memslot/core";
import type { ChunkStore, StoreStats } from "./chunk-store.ts";
import { createVectorSync } from "./embed-pending.ts";
import { readMemoryFile } from "./read-file.ts";
import { searchChunks } from "./search.ts";
import { syncMemory } from "./sync.ts";

/** How long a search waits for a sync that it started, before it answers from what is there. */
const searchWaitsMs = 300;

/**
 * A manager whose index is kept in a store: everything between the files and the store, the same for every store.
 * The manager owns the store and closes it.
 */
export async function createIndexedManager(input: {
  store: ChunkStore;
  context: MemoryPluginContext;
  backend: string;
}): Promise<MemorySearchManager> {
  const { store, context, backend } = input;
  const { settings, workspaceDir, embeddings } = context;
  const provider = embeddings.provider;
  const vectors = provider ? createVectorSync(store, provider) : undefined;
  const closing = new AbortController();

  let stats: StoreStats = await store.stats();
  let roots: MemoryRootStatus[] = [];
  let lastSync: { finishedAt: string; report: SyncReport } | undefined;
  let lastSyncError: string | undefined;
  let running: Promise<SyncReport> | undefined;
  for (const notice of store.health().notices) context.notify(notice);

  async function runSync(params: ManagerSyncParams): Promise<SyncReport> {
    try {
      const outcome = await syncMemory({ store, workspaceDir, settings, vectors, params });
      roots = outcome.roots;
      lastSync = { finishedAt: new Date().toISOString(), report: outcome.report };
      lastSyncError = undefined;
      return outcome.report;
    } catch (error) {
      if (!params.signal.aborted) lastSyncError = messageOf(error);
      throw error;
    } finally {
      stats = await store.stats().catch(() => stats);
    }
  }

  /** One after the other: a sync that a search began and one that a caller asked for must not write side by side. */
  async function queueSync(params: ManagerSyncParams): Promise<SyncReport> {
    const before = running;
    const own = (async () => {
      await before?.catch(() => undefined);
      params.signal.throwIfAborted();
      return await runSync(params);
    })();
    running = own;
    try {
      return await own;
    } finally {
      if (running === own) running = undefined;
    }
  }

  /** Starts a sync for a search and waits a little for it, all of it while the index is empty. Says why it is not fresh. */
  async function freshen(signal: AbortSignal): Promise<string | undefined> {
    if (!settings.sync.onSearch) {
      if (lastSyncError !== undefined) return `the last sync failed: ${lastSyncError}`;
      const built = lastSync !== undefined || stats.files > 0;
      return built ? undefined : "the index has not been built yet: run `memslot memory index`";
    }
    const sync = running ?? queueSync({ reason: "search", force: false, progress: () => {}, signal: closing.signal });
    const outcome = sync.then(
      () => undefined,
      (error: unknown) => `the index could not be brought up to date: ${messageOf(error)}`,
    );
    return await waitFor(outcome, stats.chunks === 0 ? undefined : searchWaitsMs, signal);
  }

  return {
    capabilities: { keyword: store.health().fts.available, vector: true, ownsIndex: true },

    async search(query: string, options: ManagerSearchOptions): Promise<MemorySearchResult[]> {
      const unfresh = await freshen(options.signal);
      const { results, report } = await searchChunks({
        store,
        settings,
        vectors,
        backend,
        query,
        options,
        now: new Date(),
      });
      options.onDebug(withFreshness(report, unfresh));
      return results;
    },

    readFile: async (params) => await readMemoryFile(params, workspaceDir, settings.extraPaths),

    sync: async (params) => await queueSync({ ...params, signal: AbortSignal.any([params.signal, closing.signal]) }),

    status: () => statusOf(),

    async probeEmbeddingAvailability(signal) {
      if (!vectors) return { ok: false, error: embeddings.reason };
      try {
        await vectors.embedQuery("memory", signal);
        return { ok: true };
      } catch (error) {
        if (signal.aborted) throw error;
        return { ok: false, error: messageOf(error) };
      }
    },

    probeVectorAvailability: async () => await store.probeVector(),

    async close() {
      closing.abort();
      await running?.catch(() => undefined);
      await store.close();
    },
  };

  function withFreshness(report: SearchReport, unfresh: string | undefined): SearchReport {
    if (unfresh && report.state === "ok") return { ...report, state: "stale", reason: unfresh };
    const pending = lastSync?.report.pendingVectors;
    if (report.state === "ok" && pending) {
      return {
        ...report,
        state: "degraded",
        reason: `${pending.chunks} chunks have no vector yet, keywords answered for them: ${pending.reason}`,
      };
    }
    if (report.state === "ok" && embeddings.degraded)
      return { ...report, state: "degraded", reason: embeddings.reason };
    if (report.state === "ok" && stats.files === 0) {
      return {
        ...report,
        reason: `there is no memory file in ${workspaceDir}`,
        action: "Write MEMORY.md or memory/YYYY-MM-DD.md there, or name folders in extraPaths.",
      };
    }
    return report;
  }

  /** Known only once a sync has looked at the files, or while there is nothing at all in the index. */
  function isDirty(): boolean | undefined {
    if (lastSync) return lastSyncError !== undefined || lastSync.report.failed.length > 0;
    return stats.files === 0 || lastSyncError !== undefined ? true : undefined;
  }

  function statusOf(): MemoryProviderStatus {
    const health = store.health();
    return {
      backend,
      provider: provider?.id ?? "none",
      model: provider?.model,
      requestedProvider: embeddings.requested,
      files: stats.files,
      chunks: stats.chunks,
      dirty: isDirty(),
      workspaceDir,
      dbPath: health.location,
      extraPaths: settings.extraPaths,
      sources: settings.sources,
      sourceCounts: stats.sources,
      roots,
      cache: {
        enabled: settings.cache.enabled,
        entries: stats.cachedVectors,
        maxEntries: settings.cache.maxEntries,
      },
      fts: health.fts,
      vector: { ...health.vector, dims: vectors?.space()?.dimensions, embedded: stats.embedded },
      storage: { databaseBytes: stats.databaseBytes, walBytes: stats.walBytes },
      lastSync,
      lastSyncError,
      custom: {
        searchMode:
          !provider || !settings.query.hybrid.enabled ? "keyword" : health.fts.available ? "hybrid" : "vector",
        providerUnavailableReason: provider ? undefined : embeddings.reason,
        notices: health.notices,
      },
    };
  }
}

async function waitFor(
  outcome: Promise<string | undefined>,
  limitMs: number | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  signal.throwIfAborted();
  return await new Promise((resolve, reject) => {
    const timer =
      limitMs === undefined
        ? undefined
        : setTimeout(() => resolve("files have changed and are still being indexed"), limitMs);
    const stop = (): void => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    outcome.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    });
  });
}
