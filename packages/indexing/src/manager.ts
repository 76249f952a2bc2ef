import {
  type EmbeddingChoice,
  type ManagerSearchOptions,
  type MemoryPluginContext,
  type MemorySearchManager,
  type MemorySearchResult,
  type SearchReport,
} from "@memslot/core";
import { checkIndex } from "./check-index.ts";
import type { ChunkStore } from "./chunk-store.ts";
import { createEmbedder, type Embedder } from "./embedding/embedder.ts";
import { estimateSync } from "./embedding/estimate.ts";
import { createIndexSync } from "./index-sync.ts";
import { statusOfIndex } from "./index-status.ts";
import type { IndexedSource } from "./indexed-source.ts";
import { createNotesSource } from "./notes-source.ts";
import { readMemoryFile } from "./read-file.ts";
import { memoryRoots } from "./memory-roots.ts";
import { searchAhead } from "./search-ahead.ts";
import { searchChunks } from "./search.ts";
import type { SearchInput, SearchOutcome } from "./search-outcome.ts";
import { sessionScope } from "./session-scope.ts";
import { createSessionLookup } from "./sessions/session-lookup.ts";
import { createSessionSource } from "./sessions/session-source.ts";
import { sessionsFolder } from "./sessions/sessions-folder.ts";
import { createTriggers, type Triggers } from "./watch/triggers.ts";
import type { WatchRoot } from "./watch/watch-targets.ts";

/**
 * A manager whose index is kept in a store: everything between the files and the store, the same for every store.
 * The manager owns the store and closes it.
 */
export async function createIndexedManager(input: {
  store: ChunkStore;
  context: MemoryPluginContext;
  backend: string;
  /** Finds in place of the store, for a backend that has a search of its own. It is given up to date files. */
  search?: ((input: SearchInput) => Promise<SearchOutcome>) | undefined;
  /** Another way to look at the files than that of the settings. */
  sources?: readonly IndexedSource[] | undefined;
}): Promise<MemorySearchManager> {
  const { store, context, backend } = input;
  const { agentId, stateDir, settings, workspaceDir } = context;
  const { upkeep } = store;
  const embeddings = store.keepsVectors === false ? noVectors(context.embeddings, backend) : context.embeddings;
  const provider = embeddings.provider;
  const vectors = provider && settings.query.hybrid.enabled ? embedderOf(provider) : undefined;
  await vectors?.count();
  const sources = input.sources ?? sourcesOf(context);
  const transcripts = settings.sources.includes("sessions") ? createSessionLookup({ stateDir, agentId }) : undefined;
  const index = await createIndexSync({ store, sources, onSearch: settings.sync.onSearch, vectors });
  const triggers = context.lookOnly === true ? undefined : startTriggers();
  for (const notice of store.health().notices) context.notify(notice);

  return {
    capabilities: { keyword: store.health().fts.available, vector: store.keepsVectors !== false, ownsIndex: true },

    async search(query: string, options: ManagerSearchOptions): Promise<MemorySearchResult[]> {
      vectors?.warm();
      // A backend's own search, and a provider that is paid for a question, are asked once and not ahead.
      const ahead = vectors || input.search ? undefined : searchAhead(store, () => answerTo(query, options));
      const unfresh = await index.freshen(options.signal);
      const { results, report } = (await ahead?.()) ?? (await answerTo(query, options));
      options.onDebug(withFreshness(report, unfresh));
      return results;
    },

    readFile: async (params) => await readMemoryFile(params, workspaceDir, settings.extraPaths),

    async sync(params) {
      const report = await index.sync(params);
      triggers?.refresh();
      return report;
    },

    status: () =>
      statusOfIndex({
        backend,
        workspaceDir,
        settings,
        choice: embeddings,
        health: store.health(),
        facts: index.facts(),
        watch: triggers?.state() ?? { mode: "off", reason: "opened only to look" },
        vectors,
      }),

    async probeEmbeddingAvailability(signal) {
      return vectors ? await vectors.probe(signal) : { ok: false, error: embeddings.reason };
    },

    probeVectorAvailability: async () => await store.probeVector(),

    check: async ({ fix, signal }) => await checkIndex({ store, vectors, fix, signal }),

    ...(upkeep && { compact: async () => await upkeep.compact() }),

    async estimate({ signal }) {
      return await estimateSync({
        store,
        sources,
        settings,
        provider: vectors?.primary.provider,
        space: await vectors?.primary.knownSpace(),
        reason: embeddings.reason,
        signal,
      });
    },

    async close() {
      await vectors?.close();
      await Promise.all([triggers?.close(), index.close()]);
      await store.close();
    },
  };

  async function answerTo(query: string, options: ManagerSearchOptions): Promise<SearchOutcome> {
    const { sessionKey, audience } = options;
    const scope = await sessionScope({
      sessionKey,
      audience,
      agentId,
      workspaceDir,
      settings,
      transcriptOf: async (key) => await transcripts?.(key),
    });
    const question: SearchInput = { settings, backend, query, options, scope, now: new Date() };
    // Without a chunk there is nothing to compare with.
    const known = index.facts().stats.chunks > 0 ? vectors : undefined;
    return await (input.search?.(question) ?? searchChunks({ ...question, store, vectors: known }));
  }

  function embedderOf(own: NonNullable<typeof provider>): Embedder {
    const { notify } = context;
    return createEmbedder({ store, provider: own, choice: embeddings, settings, agentId, stateDir, notify });
  }

  function startTriggers(): Triggers {
    return createTriggers({
      settings: settings.sync,
      roots: () => watchRootsOf(context),
      changed: () => index.markDirty(),
      run: async (reason) => {
        await index.look(reason);
        triggers?.refresh();
      },
      notify: context.notify,
    });
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
}

/** A store that finds by words alone has no use for a provider, whatever the configuration says. */
function noVectors({ requested }: EmbeddingChoice, backend: string): EmbeddingChoice {
  return { provider: undefined, requested, reason: `${backend} finds by words alone`, degraded: false };
}

/** The kinds of memory that the settings name, and that this package knows how to read. */
export function sourcesOf({ agentId, stateDir, settings, workspaceDir }: MemoryPluginContext): IndexedSource[] {
  const wanted = new Set(settings.sources);
  return [
    ...(wanted.has("memory") ? [createNotesSource({ workspaceDir, settings })] : []),
    ...(wanted.has("sessions") ? [createSessionSource({ stateDir, agentId, settings })] : []),
  ];
}

function watchRootsOf({ agentId, stateDir, settings, workspaceDir }: MemoryPluginContext): WatchRoot[] {
  const notes = memoryRoots(workspaceDir, settings.extraPaths).map(({ absolutePath, kind }): WatchRoot => {
    return { path: absolutePath, kind, extension: ".md" };
  });
  const sessions: WatchRoot = { path: sessionsFolder({ stateDir, agentId }), kind: "folder", extension: ".jsonl" };
  return settings.sources.includes("sessions") ? [...notes, sessions] : notes;
}
