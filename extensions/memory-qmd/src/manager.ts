import { existsSync, rmSync } from "node:fs";
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
import { createSearchedManager, type Ledger } from "@memslot/indexing";
import { openLedger } from "@memslot/indexing/ledger";
import { createAskQmd } from "./ask/ask-qmd.ts";
import { type Background, startBackground } from "./update/background.ts";
import { checkQmd } from "./check-qmd.ts";
import { collectionsOf } from "./update/collections.ts";
import { unavailable } from "./failures.ts";
import { models } from "./update/index-yaml.ts";
import { createMeaning } from "./ask/meaning.ts";
import { processLimits, type QmdOptions } from "./settings/options.ts";
import { modelsPresent } from "./process/models.ts";
import { openQmdProcess } from "./process/open-process.ts";
import type { QmdContext } from "./qmd-context.ts";
import type { FoundQmd, QmdLimits, QmdProcess } from "./qmd-contract.ts";
import { maySearch } from "./settings/scope-rules.ts";
import { searchQmd } from "./ask/search-qmd.ts";
import { QmdRecord } from "./update/qmd-record.ts";
import { createSessionExport } from "./update/session-export.ts";
import { withinLimits } from "./settings/snippet-limits.ts";
import { qmdSources } from "./settings/sources.ts";
import { indexBytes, stateFolder } from "./state-folder.ts";
import { statusOfQmd } from "./status-qmd.ts";
import { Updates } from "./update/updates.ts";

const backend = "memory-qmd";
/** Syncs that nobody waits for: qmd is told later. */
const behindTheScenes: ReadonlySet<string> = new Set(["search", "watch", "interval", "session-start"]);

/**
 * A memory that asks qmd which notes a question is about. Everything before and after that is done as for every other
 * backend: which files are memory, when they are looked at, who may see what, and how results are cut and scored.
 */
export async function openQmdManager(input: QmdInput): Promise<MemorySearchManager> {
  const { oneShot, signal } = input.context;
  const readOnly = input.context.lookOnly === true;
  const folder = stateFolder(input.context);
  if (!readOnly) dropOldRecord(folder);
  const ledger = await openLedger({
    store: backend,
    path: join(folder, "ledger.sqlite"),
    mayCreate: !readOnly,
    isOwnPlace: true,
    cacheMaxEntries: 0,
    oneShot,
    signal,
  });
  try {
    return await openWithLedger({ ...input, ledger, folder, readOnly });
  } catch (error) {
    await ledger.close();
    throw error;
  }
}

interface QmdInput {
  context: MemoryPluginContext;
  options: QmdOptions;
  found: FoundQmd;
  environment: Readonly<Record<string, string | undefined>>;
  /** Times of the process layer, in place of the usual ones. */
  limits?: Partial<QmdLimits> | undefined;
}

async function openWithLedger(
  input: QmdInput & { ledger: Ledger; folder: string; readOnly: boolean },
): Promise<MemorySearchManager> {
  const { options, found, environment, ledger, folder, readOnly } = input;
  const context = withOwnPaths(input.context, options);
  const { workspaceDir, settings } = context;
  const record = new QmdRecord({ ledger, folder, readOnly });
  const sessions = createSessionExport({ ledger, stateFolder: folder, exportDir: options.sessions.exportDir });
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
    record,
    sessions,
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
  const parts = { options, found, folder, workspaceDir, process, record, sessions, updates, meaning, ask };
  const inner = await createSearchedManager({
    ledger,
    context,
    backend,
    sources: qmdSources(context, options),
    searcher: {
      search: (question) => searchQmd(question, parts),
      async refresh() {
        await record.refresh();
        // An update reports what fails.
        if (!readOnly) await sessions.update(record.files).catch(() => undefined);
      },
    },
  });
  passedOver = () => skippedIn(inner.status());

  const close = async (): Promise<void> => {
    // What runs for it is ended, and what waits for that is done then. An update writes to the ledger.
    await Promise.all([background?.close(), updates.close(), process.close()]);
    await inner.close?.();
  };
  if (!readOnly) {
    background = startBackground({
      options: options.update,
      process,
      updates,
      sync: (signal) => syncFiles(inner, "interval", signal),
      wantsVectors: () => meaning.isWanted && meaning.state().modelsPresent === true,
    });
    try {
      await boot(parts, inner, context.signal);
    } catch (error) {
      await close();
      throw unavailable(error);
    }
  }
  return managerOf(parts, inner, close);
}

/** Tells qmd what has changed while this memory was closed, as far as that is known. */
async function boot(
  { options, meaning, updates, record }: QmdContext,
  inner: MemorySearchManager,
  signal: AbortSignal,
): Promise<void> {
  const { onBoot, waitForBootSync } = options.update;
  if (meaning.isWanted) await meaning.prepare(undefined);
  if (waitForBootSync) {
    await syncFiles(inner, "session-start", signal);
    await updates.now({ force: false, signal });
  } else if (onBoot && record.files.some((file) => file.seen !== file.hash)) updates.request("soon");
}

async function syncFiles(inner: MemorySearchManager, reason: string, signal: AbortSignal): Promise<void> {
  await inner.sync?.({ reason, force: false, wait: true, progress: () => undefined, signal });
}

function managerOf(parts: QmdContext, inner: MemorySearchManager, close: () => Promise<void>): MemorySearchManager {
  const { options, folder, process, meaning, updates } = parts;
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
    status: () => statusOfQmd(inner.status(), parts),

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

    close,
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
  signal.throwIfAborted();
  const beforeBytes = indexBytes(folder);
  try {
    if (beforeBytes > 0) await process.cleanup(signal);
  } catch (error) {
    throw unavailable(error);
  }
  // What was moved into the log of the database on the way is not given back before that is closed.
  return { beforeBytes, afterBytes: Math.min(beforeBytes, indexBytes(folder)) };
}

/** `memory.qmd.paths` are extra paths, and `memory.qmd.sessions.enabled` is a source. The journal is none that qmd reads. */
function withOwnPaths(context: MemoryPluginContext, options: QmdOptions): MemoryPluginContext {
  const { settings } = context;
  const paths = options.paths.map(({ path, pattern }) => ({ path, pattern }));
  const named = options.sessions.enabled ? [...settings.sources, "sessions"] : settings.sources;
  const sources = [...new Set(named)].filter((source) => source !== "journal");
  return { ...context, settings: { ...settings, sources, extraPaths: [...settings.extraPaths, ...paths] } };
}

/** What earlier versions kept in place of the ledger, with the transcripts that it knew of. */
function dropOldRecord(folder: string): void {
  if (!existsSync(join(folder, "files.json"))) return;
  for (const name of ["sessions", "session-chunks", "files.json"])
    rmSync(join(folder, name), { recursive: true, force: true });
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
