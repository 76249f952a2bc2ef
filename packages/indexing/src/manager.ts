import {
  type ManagerSearchOptions,
  type MemoryPluginContext,
  type MemoryProviderStatus,
  type MemorySearchManager,
  type MemorySearchResult,
  type SearchReport,
} from "@memslot/core";
import type { ChunkStore } from "./chunk-store.ts";
import { createEmbedder, type Embedder } from "./embedding/embedder.ts";
import { estimateSync } from "./embedding/estimate.ts";
import { createIndexSync } from "./index-sync.ts";
import { readMemoryFile } from "./read-file.ts";
import { searchChunks } from "./search.ts";

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
  const vectors = provider && settings.query.hybrid.enabled ? embedderOf(provider) : undefined;
  await vectors?.count();
  const index = await createIndexSync({ store, workspaceDir, settings, vectors });
  for (const notice of store.health().notices) context.notify(notice);

  return {
    capabilities: { keyword: store.health().fts.available, vector: true, ownsIndex: true },

    async search(query: string, options: ManagerSearchOptions): Promise<MemorySearchResult[]> {
      vectors?.warm();
      const unfresh = await index.freshen(options.signal);
      const { results, report } = await searchChunks({
        store,
        settings,
        // Without a chunk there is nothing to compare with.
        vectors: index.facts().stats.chunks > 0 ? vectors : undefined,
        backend,
        query,
        options,
        now: new Date(),
      });
      options.onDebug(withFreshness(report, unfresh));
      return results;
    },

    readFile: async (params) => await readMemoryFile(params, workspaceDir, settings.extraPaths),

    sync: async (params) => await index.sync(params),

    status: () => statusOf(),

    async probeEmbeddingAvailability(signal) {
      return vectors ? await vectors.probe(signal) : { ok: false, error: embeddings.reason };
    },

    probeVectorAvailability: async () => await store.probeVector(),

    async estimate({ signal }) {
      return await estimateSync({
        store,
        workspaceDir,
        settings,
        provider: vectors?.primary.provider,
        space: await vectors?.primary.knownSpace(),
        reason: embeddings.reason,
        signal,
      });
    },

    async close() {
      await vectors?.close();
      await index.close();
      await store.close();
    },
  };

  function embedderOf(own: NonNullable<typeof provider>): Embedder {
    const { agentId, stateDir, notify } = context;
    return createEmbedder({ store, provider: own, choice: embeddings, settings, agentId, stateDir, notify });
  }

  function withFreshness(report: SearchReport, unfresh: string | undefined): SearchReport {
    if (unfresh && report.state === "ok") return { ...report, state: "stale", reason: unfresh };
    const { stats, missingVectors: missing } = index.facts();
    if (vectors && report.fallback === undefined) report = { ...report, fallback: vectors.facts().fallback };
    if (report.state === "ok" && missing !== undefined) {
      return { ...report, state: "degraded", reason: `keywords answered for chunks without a vector: ${missing}` };
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

  function statusOf(): MemoryProviderStatus {
    const health = store.health();
    const { stats, roots, dirty, lastSync, lastSyncError } = index.facts();
    const embedding = vectors?.facts();
    return {
      backend,
      provider: provider?.id ?? "none",
      model: provider?.model,
      requestedProvider: embeddings.requested,
      files: stats.files,
      chunks: stats.chunks,
      dirty,
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
      vector: { ...health.vector, dims: embedding?.dimensions, embedded: embedding?.embedded ?? 0 },
      embedding: embedding?.status ?? { reason: embeddings.reason, passedOver: embeddings.passedOver },
      fallback: embedding?.fallback,
      storage: { databaseBytes: stats.databaseBytes, walBytes: stats.walBytes },
      lastSync,
      lastSyncError,
      custom: {
        searchMode: !vectors ? "keyword" : health.fts.available ? "hybrid" : "vector",
        providerUnavailableReason: provider ? undefined : embeddings.reason,
        notices: health.notices,
      },
    };
  }
}
