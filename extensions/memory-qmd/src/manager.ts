import { join } from "node:path";
import type {
  CompactReport,
  ManagerSyncParams,
  MemoryPluginContext,
  MemoryProviderStatus,
  MemorySearchManager,
  SearchReport,
  SyncReport,
} from "@memslot/core";
import { manageIndex } from "@memslot/indexing";
import { createAskQmd } from "./ask/ask-qmd.ts";
import { type Background, startBackground } from "./update/background.ts";
import { type CheckedQmd, checkQmd } from "./check-qmd.ts";
import { createChunkCache } from "./ask/chunk-cache.ts";
import { collectionsOf } from "./update/collections.ts";
import { unavailable } from "./failures.ts";
import { createFileStore, sizeOf } from "./update/file-store.ts";
import { models } from "./update/index-yaml.ts";
import { openLedger } from "./update/ledger.ts";
import { type Meaning, createMeaning } from "./ask/meaning.ts";
import { processLimits, type QmdOptions } from "./settings/options.ts";
import { modelsPresent } from "./process/models.ts";
import { openQmdProcess } from "./process/open-process.ts";
import type { FoundQmd, QmdLimits, QmdProcess } from "./qmd-contract.ts";
import { maySearch } from "./settings/scope-rules.ts";
import { searchQmd } from "./ask/search-qmd.ts";
import { createSessionExport } from "./update/session-export.ts";
import { withinLimits } from "./settings/snippet-limits.ts";
import { qmdSources } from "./settings/sources.ts";
import { stateFolder } from "./state-folder.ts";
import { statusOfQmd } from "./status-qmd.ts";
import { createTextReader } from "./ask/text-reader.ts";
import { Updates } from "./update/updates.ts";

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
  const updates = new Updates({
    folder,
    workspaceDir,
    ledger,
    process,
    options: options.update,
    collections: () =>
      collectionsOf({
        workspace: input.context,
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
  const reached = { folder, workspaceDir, ledger, process, updates, ask, read, sessions };
  const inner = await manageIndex({
    index: createFileStore({ folder, ledger, cache, sessions, readOnly }),
    context,
    backend,
    sources: qmdSources(context, options),
    search: (question) => searchQmd(question, { ...reached, isByMeaning: meaning.isWanted }),
  });
  passedOver = () => skippedIn(inner.status());

  const close = async (): Promise<void> => {
    await Promise.all([background?.close(), inner.close?.()]);
    // What runs for it is ended, and what waits for that is done then.
    await Promise.all([updates.close(), process.close()]);
  };
  const parts = { ...reached, options, found, meaning, inner, close };
  if (!readOnly) {
    background = startBackground({
      options: options.update,
      process,
      updates,
      sync: (signal) => syncFiles(inner, "interval", signal),
      wantsVectors: () => meaning.isWanted && meaning.state().modelsPresent === true,
    });
    await boot(parts, context.signal);
  }
  return managerOf(parts);
}

interface QmdParts extends CheckedQmd {
  options: QmdOptions;
  found: FoundQmd;
  meaning: Meaning;
  inner: MemorySearchManager;
  close: () => Promise<void>;
}

/** Tells qmd what has changed while this memory was closed, as far as that is known. */
async function boot({ options, meaning, updates, inner, ledger, close }: QmdParts, signal: AbortSignal): Promise<void> {
  const { onBoot, waitForBootSync } = options.update;
  if (meaning.isWanted) await meaning.prepare(undefined);
  if (waitForBootSync) {
    try {
      await syncFiles(inner, "session-start", signal);
      await updates.now({ force: false, signal });
    } catch (error) {
      await close();
      throw unavailable(error);
    }
  } else if (onBoot && ledger.files().some((file) => file.seen !== file.hash)) updates.request("soon");
}

async function syncFiles(inner: MemorySearchManager, reason: string, signal: AbortSignal): Promise<void> {
  await inner.sync?.({ reason, force: false, wait: true, progress: () => undefined, signal });
}

function managerOf(parts: QmdParts): MemorySearchManager {
  const { options, found, folder, ledger, process, meaning, updates, inner } = parts;
  return {
    capabilities: { keyword: true, vector: false, ownsIndex: true },

    async search(query, given) {
      const { maxResults = given.maxResults } = options.limits;
      if (!maySearch(options.scope, given.sessionKey)) {
        given.onDebug(refusal());
        return [];
      }
      let report: SearchReport | undefined;
      const own = { ...given, maxResults: Math.min(maxResults, given.maxResults) };
      const results = await inner.search(query, { ...own, onDebug: (told) => (report = told) });
      if (report === undefined) return results;
      const answer = withinLimits(results, report, options.limits);
      given.onDebug(answer.report);
      return answer.results;
    },

    readFile: (params) => inner.readFile(params),
    status: () =>
      statusOfQmd({
        inner: inner.status(),
        found,
        folder,
        process: process.state(),
        updates: updates.facts(),
        ledger: ledger.facts(),
        unseen: updates.index.unseen(),
        meaning: meaning.state(),
        options,
      }),

    sync: (params) => syncBoth(inner, updates, params),
    ...(inner.listFiles && { listFiles: (params) => inner.listFiles?.(params) ?? Promise.resolve(undefined) }),
    ...(inner.describeFile && { describeFile: (params) => inner.describeFile?.(params) ?? Promise.resolve(undefined) }),
    ...(inner.survey && { survey: (params) => inner.survey?.(params) ?? Promise.resolve(undefined) }),

    check: ({ fix, signal }) => checkQmd({ ...parts, fix, signal }),
    compact: ({ signal }) => compact(folder, process, signal),

    async probeEmbeddingAvailability(signal) {
      signal.throwIfAborted();
      if (!meaning.isWanted) return { ok: false, error: 'qmd finds by words alone: memory.qmd.searchMode is "search"' };
      const state = await meaning.prepare(updates.index.status?.hasVectorIndex);
      return state.use ? { ok: true } : { ok: false, error: state.reason };
    },

    async probeVectorAvailability(signal) {
      signal.throwIfAborted();
      if (!meaning.isWanted) return false;
      try {
        const { hasVectorIndex } = await updates.index.look(signal);
        return (await meaning.prepare(hasVectorIndex)).use;
      } catch (error) {
        throw unavailable(error);
      }
    },

    close: parts.close,
  };
}

/** The notes are looked at, and qmd is told: now where somebody waits for it, else later. */
async function syncBoth(
  inner: MemorySearchManager,
  updates: Updates,
  params: ManagerSyncParams,
): Promise<SyncReport | undefined> {
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
}

async function compact(folder: string, process: QmdProcess, signal: AbortSignal): Promise<CompactReport> {
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
