import { join } from "node:path";
import {
  type ManagerSearchOptions,
  type MemoryPluginContext,
  type MemoryProviderStatus,
  type MemorySearchManager,
  type SearchReport,
} from "@memslot/core";
import { manageIndex } from "@memslot/indexing";
import { createAskQmd } from "./ask/ask-qmd.ts";
import { type Background, startBackground } from "./update/background.ts";
import { checkQmd } from "./check-qmd.ts";
import { createChunkCache } from "./ask/chunk-cache.ts";
import { collectionsOf } from "./update/collections.ts";
import { unavailable } from "./failures.ts";
import { createFileStore, sizeOf } from "./update/file-store.ts";
import { models } from "./update/index-yaml.ts";
import { openLedger } from "./update/ledger.ts";
import { createMeaning } from "./ask/meaning.ts";
import { processLimits, type QmdOptions } from "./settings/options.ts";
import { modelsPresent } from "./process/models.ts";
import { openQmdProcess } from "./process/open-process.ts";
import type { FoundQmd, QmdLimits } from "./qmd-contract.ts";
import { maySearch } from "./settings/scope-rules.ts";
import { searchQmd } from "./ask/search-qmd.ts";
import { createSessionExport } from "./update/session-export.ts";
import { withinLimits } from "./settings/snippet-limits.ts";
import { qmdSources } from "./settings/sources.ts";
import { stateFolder } from "./state-folder.ts";
import { statusOfQmd } from "./status-qmd.ts";
import { createTextReader } from "./ask/text-reader.ts";
import { createUpdates, type Updates } from "./update/updates.ts";

const backend = "memory-qmd";
/** Syncs that nobody waits for: qmd is told later. */
const behindTheScenes: ReadonlySet<string> = new Set(["search", "watch", "interval", "session-start"]);

/**
 * A memory that asks qmd which notes a question is about. Everything before and after that is done as for every other
 * backend: which files are memory, when they are looked at, who may see what, and how results are cut and scored.
 */
export async function openQmdManager(input: {
  context: MemoryPluginContext;
  options: QmdOptions;
  found: FoundQmd;
  environment: Readonly<Record<string, string | undefined>>;
  /** Times of the process layer, in place of the usual ones. */
  limits?: Partial<QmdLimits> | undefined;
}): Promise<MemorySearchManager> {
  const { options, found, environment } = input;
  const context = withOwnPaths(input.context, options);
  const { workspaceDir, settings } = context;
  const readOnly = context.lookOnly === true;
  const folder = stateFolder(context);
  const ledger = openLedger(folder, readOnly);
  const cache = createChunkCache();
  const sessions = createSessionExport(folder, options.sessions.exportDir);
  const process = openQmdProcess({
    found,
    folder,
    environment,
    mode: "lexical",
    limits: { ...processLimits(options), ...input.limits },
    notify: context.notify,
  });
  const meaning = createMeaning({
    options,
    process,
    modelsPresent: () => modelsPresent(Object.values(models), environment),
  });
  let background: Background | undefined;
  let passedOver = (): string[] => [];
  const updates: Updates = createUpdates({
    folder,
    workspaceDir,
    ledger,
    process,
    options: options.update,
    collections: () =>
      collectionsOf({
        workspaceDir,
        extraPaths: input.context.settings.extraPaths,
        named: options.paths,
        includeDefaultMemory: options.includeDefaultMemory,
        sessionsFolder: settings.sources.includes("sessions") ? sessions.folder : undefined,
        passedOver: passedOver(),
      }),
    readOnly,
    onUpdated: () => background?.updated(),
  });
  const ask = createAskQmd({ process, updates, meaning, options });
  const read = createTextReader({ workspaceDir, settings, cache, sessions });
  const parts = { workspaceDir, ledger, updates, ask, read, sessions, isByMeaning: meaning.isWanted };
  const inner = await manageIndex({
    index: createFileStore({ folder, ledger, cache, sessions, readOnly }),
    context,
    backend,
    sources: qmdSources(context, options),
    search: (question) => searchQmd(question, parts),
  });
  passedOver = () => skippedIn(inner.status());

  async function close(): Promise<void> {
    await Promise.all([background?.close(), inner.close?.()]);
    // What runs for it is ended, and what waits for that is done then.
    await Promise.all([updates.close(), process.close()]);
  }

  if (!readOnly) {
    background = startBackground({
      options: options.update,
      process,
      updates: () => updates,
      sync: (signal) => syncFiles("interval", signal),
      wantsVectors: () => meaning.isWanted && meaning.state().modelsPresent === true,
    });
    await boot();
  }

  /** Tells qmd what has changed while this memory was closed, as far as that is known. */
  async function boot(): Promise<void> {
    const { onBoot, waitForBootSync } = options.update;
    if (meaning.isWanted) await meaning.prepare(undefined);
    if (waitForBootSync) {
      try {
        await syncFiles("session-start", context.signal);
        await updates.now({ force: false, signal: context.signal });
      } catch (error) {
        await close();
        throw unavailable(error);
      }
    } else if (onBoot && ledger.files().some((file) => file.seen !== file.hash)) updates.request("soon");
  }

  async function syncFiles(reason: string, signal: AbortSignal): Promise<void> {
    await inner.sync?.({ reason, force: false, wait: true, progress: () => undefined, signal });
  }

  function status(): MemoryProviderStatus {
    return statusOfQmd({
      inner: inner.status(),
      found,
      folder,
      process: process.state(),
      updates: updates.facts(),
      ledger: ledger.facts(),
      unseen: updates.unseen(),
      meaning: meaning.state(),
      options,
    });
  }

  return {
    capabilities: { keyword: true, vector: false, ownsIndex: true },

    async search(query, given) {
      const { maxResults = given.maxResults } = options.limits;
      if (!maySearch(options.scope, given.sessionKey)) {
        given.onDebug(refusal());
        return [];
      }
      let report: SearchReport | undefined;
      const own: ManagerSearchOptions = {
        ...given,
        maxResults: Math.min(maxResults, given.maxResults),
        onDebug: (told) => (report = told),
      };
      const results = await inner.search(query, own);
      if (report === undefined) return results;
      const answer = withinLimits(results, report, options.limits);
      given.onDebug(answer.report);
      return answer.results;
    },

    readFile: (params) => inner.readFile(params),
    status,

    async sync(params) {
      let last = { completed: 0, total: 0 };
      const progress = (update: typeof last): void => {
        last = update;
        params.progress(update);
      };
      const report = await inner.sync?.({ ...params, progress });
      if (behindTheScenes.has(params.reason) || params.sessions !== undefined) {
        updates.request("later");
        return report;
      }
      if (last.total > 0) params.progress({ completed: last.completed, total: last.total, label: "the index of qmd" });
      try {
        await updates.now({ force: params.force, signal: params.signal });
      } catch (error) {
        throw unavailable(error);
      }
      return report;
    },

    ...(inner.survey && { survey: (params) => inner.survey?.(params) ?? Promise.resolve(undefined) }),

    check: ({ fix, signal }) =>
      checkQmd({ folder, workspaceDir, process, updates, ledger, sessions, ask, read, fix, signal }),

    async compact({ signal }) {
      const bytes = (): number => sizeOf(join(folder, "index.sqlite")) + sizeOf(join(folder, "index.sqlite-wal"));
      signal.throwIfAborted();
      const beforeBytes = bytes();
      try {
        if (beforeBytes > 0) await process.cleanup(signal);
      } catch (error) {
        throw unavailable(error);
      }
      // What was moved into the log of the database on the way is not given back before that is closed.
      return { beforeBytes, afterBytes: Math.min(beforeBytes, bytes()) };
    },

    async probeEmbeddingAvailability(signal) {
      signal.throwIfAborted();
      if (!meaning.isWanted) return { ok: false, error: 'qmd finds by words alone: memory.qmd.searchMode is "search"' };
      const state = await meaning.prepare(updates.facts().index?.hasVectorIndex);
      return state.use ? { ok: true } : { ok: false, error: state.reason };
    },

    async probeVectorAvailability(signal) {
      signal.throwIfAborted();
      if (!meaning.isWanted) return false;
      try {
        const { hasVectorIndex } = await updates.look(signal);
        return (await meaning.prepare(hasVectorIndex)).use;
      } catch (error) {
        throw unavailable(error);
      }
    },

    close,
  };
}

/** `memory.qmd.paths` are extra paths, and `memory.qmd.sessions.enabled` is a source. The journal is none that qmd reads. */
function withOwnPaths(context: MemoryPluginContext, options: QmdOptions): MemoryPluginContext {
  const { settings } = context;
  const paths = options.paths.map(({ path, pattern }) => ({ path, pattern }));
  const named = options.sessions.enabled ? [...settings.sources, "sessions"] : settings.sources;
  const sources = [...new Set(named)].filter((source) => source !== "journal");
  return { ...context, settings: { ...settings, sources, extraPaths: [...settings.extraPaths, ...paths] } };
}

function refusal(): SearchReport {
  return {
    backend,
    mode: "keyword",
    state: "ok",
    reason: "memory.qmd.scope does not let this session search",
    action: "add a rule to memory.qmd.scope.rules that allows it",
    legs: {},
    dropped: { minScore: 0, source: 0, limit: 0 },
  };
}

/** Single files and folders inside of the roots that a look at the notes has passed over. */
function skippedIn({ roots = [] }: MemoryProviderStatus): string[] {
  return roots.filter(({ state }) => state === "skipped").map(({ path }) => path);
}

/** What can be told before qmd is looked for. */
export function noticesOf(context: MemoryPluginContext, options: QmdOptions): string[] {
  const notices: string[] = [];
  if (options.hasMcporter)
    notices.push(
      "memory.qmd.mcporter is not needed: memslot keeps `qmd mcp` running itself, and does not use mcporter",
    );
  if (options.sessions.enabled && !context.settings.sources.includes("sessions"))
    notices.push(
      'memory.qmd.sessions.enabled indexes transcripts; to have searches look at them, name "sessions" in memorySearch.sources too',
    );
  if (options.rerank && options.searchMode === "search")
    notices.push('memory.qmd.rerank has no effect while memory.qmd.searchMode is "search"');
  return notices;
}
