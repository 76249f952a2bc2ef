import {
  type EmbeddingChoice,
  type ManagerSearchOptions,
  type MemoryPluginContext,
  type MemorySearchManager,
  type MemorySearchResult,
  type SearchCondition,
  type SearchReport,
  withConditions,
} from "@memslot/core";
import { checkIndex } from "./sync/check-index.ts";
import { createCheckedSearch, searchAhead } from "./search/checked-search.ts";
import type { ChunkIndex } from "./chunk-index.ts";
import { createEmbedder, type Embedder } from "./embedding/embedder.ts";
import { estimateSync } from "./embedding/estimate.ts";
import type { IndexFacts } from "./sync/index-facts.ts";
import { createIndexSync } from "./sync/index-sync.ts";
import { statusOfIndex } from "./sync/index-status.ts";
import type { IndexedSource } from "./indexed-source.ts";
import { journalFolder, journalOfTranscript } from "./journal/journal-folder.ts";
import { createJournalSource } from "./journal/journal-source.ts";
import { isJournalPath, readJournal } from "./journal/read-journal.ts";
import { createNotesSource } from "./files/notes-source.ts";
import { readMemoryFile } from "./files/read-file.ts";
import { memoryRoots } from "./files/memory-roots.ts";
import { searchChunks } from "./search/search.ts";
import { placesOf, type SearchInput, type SearchOutcome } from "./search/search-outcome.ts";
import { freshnessForAll, withMissingWithin } from "./search/shared-report.ts";
import { sessionScope, type SourceScope } from "./search/session-scope.ts";
import { createSessionLookup } from "./sessions/session-lookup.ts";
import { createSessionSource } from "./sessions/session-source.ts";
import { sessionsFolder } from "./sessions/sessions-folder.ts";
import { findUnread } from "./sync/unread.ts";
import { aboutUnread, withoutUnread } from "./sync/unread.ts";
import { createUnsearchedCounter, isPoor, withUnsearched } from "./files/unsearched.ts";
import { tracedIndex } from "./traced-index.ts";
import { createTriggers, type Triggers } from "./watch/triggers.ts";
import type { WatchRoot } from "./watch/watch-scope.ts";

/**
 * A manager of an index: everything between the files and what is kept of them, the same wherever that is. The manager
 * owns the index and closes it.
 */
export async function manageIndex(input: {
  index: ChunkIndex;
  context: MemoryPluginContext;
  backend: string;
  /** Finds in place of the index, for a backend that has a search of its own. It is given up to date files. */
  search?: ((input: SearchInput) => Promise<SearchOutcome>) | undefined;
  /** Another way to look at the files than that of the settings. */
  sources?: readonly IndexedSource[] | undefined;
}): Promise<MemorySearchManager> {
  const { context, backend } = input;
  const store = tracedIndex(input.index, { agentId: context.agentId, backend });
  const { agentId, stateDir, settings, workspaceDir } = context;
  const { upkeep } = store;
  // Called off while the store was being opened.
  if (context.signal.aborted) await store.close();
  context.signal.throwIfAborted();
  const embeddings = store.keepsVectors === false ? noVectors(context.embeddings, backend) : context.embeddings;
  const provider = embeddings.provider;
  const vectors = provider && settings.query.hybrid.enabled ? embedderOf(provider) : undefined;
  await vectors?.count();
  const sources = input.sources ?? sourcesOf(context);
  const unsearched = createUnsearchedCounter({ workspaceDir, settings });
  const hasSessions = settings.sources.some((source) => source === "sessions" || source === "journal");
  const transcripts = hasSessions ? createSessionLookup({ stateDir, agentId }) : undefined;
  const journal = journalFolder({ stateDir, agentId });
  const index = await createIndexSync({
    store,
    sources,
    onSearch: settings.sync.onSearch,
    vectors,
    lookOnly: context.lookOnly === true,
    names: { agentId, backend },
  });
  const checked = createCheckedSearch({ store, sources, reread: index.reread });
  const triggers = context.lookOnly === true ? undefined : startTriggers();
  for (const notice of store.health().notices) context.notify(notice);

  return {
    capabilities: { keyword: store.health().fts.available, vector: store.keepsVectors !== false, ownsIndex: true },

    async search(query: string, options: ManagerSearchOptions): Promise<MemorySearchResult[]> {
      vectors?.warm();
      const scope = await scopeOf(options);
      // A backend's own search, and a provider that is paid for a question, are asked once and not ahead.
      const ahead = vectors || input.search ? undefined : searchAhead(store, () => answerTo(query, options, scope));
      const before = unreadIn(index.facts());
      const unfresh = await index.freshen(options.signal);
      const first = async (): Promise<SearchOutcome | undefined> =>
        unreadIn(index.facts()) === before ? await ahead?.() : undefined;
      const { results, report } = await checked({
        first: async () => (await first()) ?? (await answerTo(query, options, scope)),
        again: () => answerTo(query, options, scope),
        options,
      });
      const unread = aboutUnread(scope, options.sources, index.facts().sources);
      if (options.audience === "shared") {
        // Names and counts of the owner's files are nothing for others.
        options.onDebug(freshnessForAll(report, unfresh, unread, embeddings));
        return results;
      }
      const told = withFreshness(report, unfresh, unread);
      const says = options.sources.includes("memory") && isPoor(told, results.length);
      options.onDebug(
        says ? withUnsearched(told, results.length, await unsearched.count(options.signal), workspaceDir) : told,
      );
      return results;
    },

    readFile: async (params) =>
      isJournalPath(params.relPath)
        ? await readJournal(params, journal)
        : await readMemoryFile(params, workspaceDir, settings.extraPaths),

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

    survey: async ({ signal }) => ({
      unread: await findUnread(sources, signal),
      unsearched: await unsearched.count(signal),
    }),

    check: async ({ fix, signal }) => await checkIndex({ store, sources, vectors, fix, signal }),

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

  async function scopeOf({ sessionKey, audience, signal }: ManagerSearchOptions): Promise<SourceScope> {
    return await sessionScope({
      sessionKey,
      audience,
      agentId,
      workspaceDir,
      settings,
      signal,
      transcriptOf: async (key) => await transcripts?.(key),
      journalOf: (transcript) => journalOfTranscript(journal, transcript),
    });
  }

  async function answerTo(query: string, options: ManagerSearchOptions, allowed: SourceScope): Promise<SearchOutcome> {
    const { sources, stats } = index.facts();
    const scope = withoutUnread(allowed, sources);
    const question: SearchInput = { settings, backend, query, options, scope, now: new Date() };
    // Without a chunk there is nothing to compare with. Others who read along are not to learn whether there is one.
    const known = options.audience === "shared" || stats.chunks > 0 ? vectors : undefined;
    const outcome = await (input.search?.(question) ?? searchChunks({ ...question, store, vectors: known }));
    if (options.audience !== "shared" || !vectors || vectors.facts().missing === 0) return outcome;
    return await withMissingWithin(outcome, { store, vectors, places: placesOf(options, scope) });
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

  /** Adds to a report what is known of the index and the files: everything that is the case, not the worst alone. */
  function withFreshness(
    given: SearchReport,
    unfresh: SearchCondition | undefined,
    unread: SearchCondition | undefined,
  ): SearchReport {
    const report = vectors && given.fallback === undefined ? { ...given, fallback: vectors.facts().fallback } : given;
    const conditions = [unread, unvectored(report), unfresh].filter((condition) => condition !== undefined);
    if (embeddings.degraded) conditions.push({ state: "degraded", reason: embeddings.reason });
    if (conditions.length > 0) {
      // Why nothing was found would be a claim about notes that were not all looked at.
      const claim = report.state === "ok" && (unread ?? unfresh) !== undefined;
      return withConditions(claim ? { ...report, reason: undefined } : report, conditions);
    }
    if (report.state === "ok" && index.facts().stats.files === 0) {
      return {
        ...report,
        reason: `there is no memory file in ${workspaceDir}`,
        action: "Write MEMORY.md or memory/YYYY-MM-DD.md there, or name folders in extraPaths.",
      };
    }
    return report;
  }

  /** Chunks that only words find, where the answer does not say itself that words answered alone. */
  function unvectored({ state }: SearchReport): SearchCondition | undefined {
    const missing = vectors?.facts().missing;
    if (vectors === undefined || state === "degraded" || missing === 0) return undefined;
    const why = index.facts().missingVectors ?? (missing === undefined ? undefined : "they are being made");
    if (why === undefined) return undefined;
    const reason = `keywords answered for chunks without a vector: ${why}`;
    return { state: "degraded", reason, ...(missing === undefined ? {} : { count: missing }) };
  }
}

/** One text for what could not be read, to tell whether that is still the same. */
function unreadIn({ sources }: IndexFacts): string {
  return JSON.stringify([...sources].map(([source, { unreadPlaces }]) => [source, unreadPlaces]));
}

/** A store that finds by words alone has no use for a provider, whatever the configuration says. */
function noVectors({ requested }: EmbeddingChoice, backend: string): EmbeddingChoice {
  return { provider: undefined, requested, reason: `${backend} finds by words alone`, degraded: false };
}

/** The kinds of memory that the settings name, and that this package knows how to read. */
export function sourcesOf(context: MemoryPluginContext): IndexedSource[] {
  const { agentId, stateDir, settings, workspaceDir } = context;
  const wanted = new Set(settings.sources);
  return [
    ...(wanted.has("memory") ? [createNotesSource({ workspaceDir, settings })] : []),
    ...(wanted.has("sessions") ? [createSessionSource({ stateDir, agentId, settings })] : []),
    // Behind the transcripts, which say what of it can be found elsewhere.
    ...(wanted.has("journal")
      ? [createJournalSource({ stateDir, agentId, settings, lookOnly: context.lookOnly === true })]
      : []),
  ];
}

function watchRootsOf({ agentId, stateDir, settings, workspaceDir }: MemoryPluginContext): WatchRoot[] {
  const notes = memoryRoots(workspaceDir, settings.extraPaths).map(({ absolutePath, kind }): WatchRoot => {
    return { path: absolutePath, kind, extension: ".md" };
  });
  const folders = { sessions: sessionsFolder({ stateDir, agentId }), journal: journalFolder({ stateDir, agentId }) };
  const transcripts = Object.entries(folders).flatMap(([source, path]): WatchRoot[] =>
    settings.sources.includes(source) ? [{ path, kind: "folder", extension: ".jsonl" }] : [],
  );
  return [...notes, ...transcripts];
}
