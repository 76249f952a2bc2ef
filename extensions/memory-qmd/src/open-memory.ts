import { join } from "node:path";
import type { MemoryPluginContext, MemoryProviderStatus, MemorySearchManager } from "@memslot/core";
import { createSearchedManager } from "@memslot/indexing/engine";
import { openLedger } from "@memslot/indexing/ledger";
import { toMemoryError } from "./failures.ts";
import { backend, createQmdManager, scanNotes } from "./manager.ts";
import { findQmd, type FoundQmd } from "./process/find-qmd.ts";
import { QmdClient } from "./process/qmd-client.ts";
import type { HostEnvironment, QmdLimits } from "./process/run-qmd.ts";
import type { QmdContext } from "./open-memory-parts.ts";
import { searchQmd } from "./search/search-qmd.ts";
import { SemanticMode } from "./search/semantic-mode.ts";
import { processLimits, type QmdOptions, readOptions } from "./options.ts";
import { qmdSources } from "./sources.ts";
import { stateFolder } from "./state-folder.ts";
import { collectionsOf } from "./update/collections.ts";
import { QmdRecord } from "./update/indexed-files.ts";
import { SessionExport } from "./update/session-export.ts";
import { Updates } from "./update/schedule-updates.ts";

/** Opens the memory of this plugin. Throws `UNAVAILABLE` with the next step if qmd cannot be used. */
export async function openPlugin(context: MemoryPluginContext): Promise<MemorySearchManager> {
  const options = readOptions(context.options);
  for (const notice of noticesOf(context, options)) context.notify(notice);
  const environment = process.env;
  try {
    const found = await findQmd({ command: options.command, environment, signal: context.signal });
    return await openQmdMemory({ context, options, found, environment });
  } catch (error) {
    throw toMemoryError(error);
  }
}

export function noticesOf({ settings }: Pick<MemoryPluginContext, "settings">, options: QmdOptions): string[] {
  const { mcporter, sessions, rerank, searchMode } = options;
  const notices: [when: boolean, text: string][] = [
    [
      mcporter.enabled === true,
      "memory.qmd.mcporter is not needed: memslot runs `qmd mcp` itself and does not use mcporter",
    ],
    [
      sessions.enabled && !settings.sources.includes("sessions"),
      'memory.qmd.sessions.enabled indexes transcripts; to search them, name "sessions" in memorySearch.sources too',
    ],
    [rerank && searchMode === "search", 'memory.qmd.rerank has no effect while memory.qmd.searchMode is "search"'],
  ];
  return notices.flatMap(([when, text]) => (when ? [text] : []));
}

export interface OpenInput {
  context: MemoryPluginContext;
  options: QmdOptions;
  found: FoundQmd;
  environment: HostEnvironment;
  limits?: Partial<QmdLimits> | undefined;
}

export async function openQmdMemory({
  options,
  found,
  environment,
  ...given
}: OpenInput): Promise<MemorySearchManager> {
  const context = withOwnPaths(given.context, options);
  const { readOnly = false, oneShot, settings, signal, workspaceDir } = context;
  const folder = stateFolder(context);
  const ledger = await openLedger({
    store: backend,
    path: join(folder, "ledger.sqlite"),
    mayCreate: !readOnly,
    isOwnPlace: true,
    cacheMaxEntries: 0,
    oneShot,
    signal,
  });
  let close = async (): Promise<void> => ledger.close();
  try {
    const record = new QmdRecord({ ledger, folder, readOnly });
    const sessions = new SessionExport({ ledger, stateFolder: folder, exportDir: options.sessions.exportDir });
    const limits = { ...processLimits(options), ...given.limits };
    const client = new QmdClient({ found, folder, environment, limits, notify: context.notify });
    const semantic = new SemanticMode({ options, client, environment });
    let inner: MemorySearchManager | undefined;
    const updates = new Updates({
      folder,
      workspaceDir,
      record,
      sessions,
      client,
      readOnly,
      options: options.update,
      collections: () =>
        collectionsOf({
          workspace: given.context,
          named: options.paths,
          includeDefaultMemory: options.includeDefaultMemory,
          sessionsFolder: settings.sources.includes("sessions") ? sessions.folder : undefined,
          skipped: skippedIn(inner?.status().roots),
        }),
      scan: async (each) => inner && scanNotes(inner, "interval", each),
      wantsVectors: () => semantic.isWanted && semantic.hasModels === true,
    });
    const parts = { options, found, folder, workspaceDir, client, record, sessions, updates, semantic };
    inner = await createSearchedManager({
      ledger,
      context,
      backend,
      sources: qmdSources(context, options),
      searcher: {
        search: (question) => searchQmd(question, parts),
        async refresh() {
          await record.refresh();
          // An update reports the failure.
          if (!readOnly) await sessions.update(record.files).catch(() => undefined);
        },
      },
    });
    const manager = createQmdManager(parts, inner);
    close = async () => manager.close?.();
    if (!readOnly) await updateAtOpen(parts, inner, signal);
    return manager;
  } catch (error) {
    await close();
    throw toMemoryError(error);
  }
}

/** Updates qmd with the changes that were made while this memory was closed. */
async function updateAtOpen(
  { options, semantic, updates, record }: QmdContext,
  inner: MemorySearchManager,
  signal: AbortSignal,
): Promise<void> {
  const { onBoot, waitForBootSync } = options.update;
  updates.startIntervals();
  if (semantic.isWanted) await semantic.prepare(undefined);
  if (waitForBootSync) {
    await scanNotes(inner, "session-start", signal);
    await updates.now({ force: false, signal });
  } else if (onBoot && record.files.some((file) => file.seen !== file.hash)) updates.request("soon");
}

/** `memory.qmd.paths` are extra paths, and `memory.qmd.sessions.enabled` is a source. qmd does not read the journal. */
function withOwnPaths(context: MemoryPluginContext, options: QmdOptions): MemoryPluginContext {
  const { settings } = context;
  const paths = options.paths.map(({ path, pattern }) => ({ path, pattern }));
  const named = options.sessions.enabled ? [...settings.sources, "sessions" as const] : settings.sources;
  const sources = [...new Set(named)].filter((source) => source !== "journal");
  return { ...context, settings: { ...settings, sources, extraPaths: [...settings.extraPaths, ...paths] } };
}

function skippedIn(roots: MemoryProviderStatus["roots"] = []): string[] {
  return roots.filter(({ state }) => state === "skipped").map(({ path }) => path);
}
