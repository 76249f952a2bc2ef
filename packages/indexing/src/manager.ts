import path from "node:path";
import { type EmbeddingChoice, type MemoryPluginContext, type MemorySearchManager, clientSources } from "@memslot/core";
import { clientOfPath, lazily } from "@memslot/core/host";
import type { NoteIndex } from "./note-index.ts";
import { spaceName } from "./chunk-store.ts";
import { Freshness } from "./freshness/freshness.ts";
import { createAgentSource } from "./agents/agent-source.ts";
import { createIndexSync } from "./sync/index-sync.ts";
import { statusOfIndex, findExcluded } from "./sync/index-status.ts";
import type { IndexedSource } from "./indexed-source.ts";
import { journalFolder, sessionsFolder } from "./sources/session-folders.ts";
import { createJournalSource, isJournalPath, readJournal } from "./sources/journal.ts";
import { createManagerSearch } from "./manager-search.ts";
import type { SearchInput, SearchOutcome } from "./search/search-outcome.ts";
import { createNotesSource } from "./scan/read-note.ts";
import { readMemoryFile } from "./scan/read-memory-file.ts";
import { memoryRoots } from "./scan/memory-roots.ts";
import { createSessionSource } from "./sources/sessions.ts";
import { createUnsearchedCounter } from "./scan/survey-notes.ts";
import { tracedIndex } from "./traced-index.ts";
import type { WatchRoot } from "./freshness/watch-scope.ts";

/** The manager of an index. Owns the index and closes it. */
export async function manageIndex(input: {
  index: NoteIndex;
  context: MemoryPluginContext;
  backend: string;
  /** False: it finds by keywords only, no provider is asked, and nothing that is about vectors is called. */
  keepsVectors?: boolean | undefined;
  /** Finds instead of the index, for a backend that has a search of its own. It is given up to date files. */
  search?: ((input: SearchInput) => Promise<SearchOutcome>) | undefined;
  /** Another way to look at the files than that of the settings. */
  sources?: readonly IndexedSource[] | undefined;
}): Promise<MemorySearchManager> {
  const { context, backend, keepsVectors = true } = input;
  const store = tracedIndex(input.index, { agentId: context.agentId, backend });
  const { agentId, stateDir, settings, workspaceDir } = context;
  if (context.signal.aborted) await store.close();
  context.signal.throwIfAborted();
  const embeddings = keepsVectors ? context.embeddings : noVectors(context.embeddings, backend);
  const provider = embeddings.provider;
  const { notify } = context;
  // Modules that a search by words does not use are loaded at the first call that needs them.
  const embedder = provider && settings.query.hybrid.enabled ? await import("./embedding/embedder.ts") : undefined;
  const vectors =
    provider &&
    embedder &&
    new embedder.Embedder({ store, provider, choice: embeddings, settings, agentId, stateDir, notify });
  await vectors?.count();
  const sources = input.sources ?? sourcesOf(context);
  const unsearched = createUnsearchedCounter(context);
  const journal = journalFolder({ stateDir, agentId });
  const isReadOnly = context.readOnly === true;
  const freshness = new Freshness({
    settings: settings.sync,
    roots: watchRootsOf(context),
    whyScans: isReadOnly
      ? "opened only to look"
      : input.sources && "the backend looks at the files in a way of its own",
    notify,
    sentinelDir: path.join(stateDir, "watch"),
  });
  const index = await createIndexSync({
    store,
    sources,
    onSearch: settings.sync.onSearch !== false,
    freshness,
    vectors,
    readOnly: isReadOnly,
    names: { agentId, backend },
    notify,
  });
  const reranker = context.rerank?.reranker;
  const rerank =
    reranker && new (await import("./search/rerank-stage.ts")).RerankStage(reranker, settings.query.rerank);
  const shared = { context, backend, store, sources, index, vectors, embeddings, unsearched };
  const search = createManagerSearch({ ...shared, rerank, find: input.search });
  if (!isReadOnly)
    freshness.start({ changed: () => index.markDirty(), run: async (reason) => await index.scan(reason) });
  const notified = new Set<string>();
  const notifyNew = (): void => {
    for (const notice of store.health().notices) if (notified.size < notified.add(notice).size) notify(notice);
  };
  notifyNew();
  const listed = lazily(async () => (await import("./listing/memory-listing.ts")).createListedMemory(store, context));
  const mapped = lazily(async () => {
    const { createMemoryMap } = await import("./map/memory-map.ts");
    return createMemoryMap(store, vectors, context);
  });

  return {
    capabilities: { keyword: store.health().fts.available, vector: keepsVectors, ownsIndex: true },

    async search(query, options) {
      const { results, report } = await search(query, options);
      options.onDebug(report);
      return results;
    },

    async why(query, target, options) {
      if (input.search !== undefined) return undefined;
      const { whyInSearch } = await import("./search/explain-search.ts");
      return await whyInSearch(
        { query, target, options },
        { ...shared, search: async (...asked) => (await search(...asked)).results },
      );
    },

    async readFile(params) {
      if (isJournalPath(params.relPath)) return await readJournal(params, journal);
      const agent = clientOfPath(params.relPath);
      const own = sources.find(({ source }) => source === agent);
      if (own?.readFile !== undefined) return await own.readFile(params);
      return await readMemoryFile(params, context);
    },

    async sync(params) {
      const report = await index.sync(params);
      freshness.refresh();
      notifyNew();
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
        watch: freshness.watching(),
        freshness: freshness.status(),
        vectors,
      }),

    async probeEmbeddingAvailability(signal) {
      return vectors ? await vectors.probe(signal) : { ok: false, error: embeddings.reason };
    },

    probeVectorAvailability: async () => keepsVectors && (await canSearchVectors(store)),

    listFiles: async (params) => await (await listed()).listFiles(params),
    describeFile: async (params) => await (await listed()).describeFile(params),

    async survey({ signal }) {
      // Another process may have written to the index.
      await store.revision({ fresh: true });
      const excluded = await findExcluded(sources, await index.stored(), signal);
      return { ...excluded, unsearched: await unsearched(signal) };
    },

    async check({ fix, signal }) {
      const { checkIndex } = await import("./sync/check-index.ts");
      return await checkIndex({ store, sources, vectors, fix, signal });
    },

    compact: async (options) => await store.compact(options),

    async details() {
      const space = await vectors?.primary.knownSpace();
      const spaces = keepsVectors ? await store.spaces() : [];
      return {
        syncs: await index.history(),
        spaces: spaces.map(({ space: each, vectors: count }) => ({
          provider: each.provider,
          model: each.model,
          dimensions: each.dimensions,
          vectors: count,
          inUse: space !== undefined && spaceName(each) === spaceName(space),
        })),
        price: provider?.price,
      };
    },

    map: async (params) => await (await mapped())(params),

    ...(vectors && { releaseQuarantine: async () => await vectors.releaseQuarantine() }),

    async estimate({ signal }) {
      const { estimateSync } = await import("./embedding/estimate.ts");
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
      await Promise.all([freshness.close(), index.close()]);
      await store.close();
    },
  };
}

async function canSearchVectors(store: NoteIndex): Promise<boolean> {
  const [known] = await store.spaces();
  const space = known?.space ?? { provider: "none", model: "none", providerKey: "", dimensions: 1 };
  const vector = new Float32Array(space.dimensions);
  vector[0] = 1;
  await store.searchVector({ space, vector, sources: [], limit: 1 });
  return store.health().vector.available === true;
}

/** A store that finds by keywords only has no use for a provider, whatever the configuration says. */
function noVectors({ requested }: EmbeddingChoice, backend: string): EmbeddingChoice {
  return { provider: undefined, requested, reason: `${backend} finds by words alone`, degraded: false };
}

export function sourcesOf(context: MemoryPluginContext): IndexedSource[] {
  const { agentId, stateDir, settings, workspaceDir } = context;
  const wanted = new Set(settings.sources);
  const projectDir = context.projectDir ?? workspaceDir;
  return [
    ...(wanted.has("memory") ? [createNotesSource(context)] : []),
    ...(wanted.has("sessions") ? [createSessionSource({ stateDir, agentId, settings })] : []),
    // Behind the transcripts, which say what of it can be found elsewhere.
    ...(wanted.has("journal")
      ? [createJournalSource({ stateDir, agentId, settings, readOnly: context.readOnly === true })]
      : []),
    ...clientSources
      .filter((source) => wanted.has(source))
      .map((source) => createAgentSource({ source, settings, stateDir, agentId, projectDir })),
  ];
}

function watchRootsOf(context: MemoryPluginContext): () => WatchRoot[] {
  const { agentId, stateDir, settings } = context;
  const folders = { sessions: sessionsFolder({ stateDir, agentId }), journal: journalFolder({ stateDir, agentId }) };
  const transcripts = Object.entries(folders).flatMap(([source, folder]): WatchRoot[] =>
    settings.sources.includes(source) ? [{ path: folder, kind: "folder", extension: ".jsonl" }] : [],
  );
  return () => [
    ...memoryRoots(context).map(({ absolutePath, kind, rules }): WatchRoot => {
      const isFolderOfNotes = rules !== undefined;
      return { path: absolutePath, kind, ...(isFolderOfNotes && { notesBut: stateDir }) };
    }),
    ...transcripts,
  ];
}
