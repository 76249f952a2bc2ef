import { isAbsolute, resolve } from "node:path";
import { checkAgentPlace } from "../config/agent-ids.ts";
import { checkNode, loadConfig, parseConfig } from "../config/load-config.ts";
import { installedPluginsDir } from "../config/plugin-packages.ts";
import { type MemorySearchSettings, type MemslotConfig } from "../contract/config.ts";
import type { EmbeddingProvider } from "../contract/embedding.ts";
import { MemoryError, pluginError } from "../contract/errors.ts";
import type { Memory } from "../contract/memory.ts";
import type { AnyPlugin, MemoryPlugin } from "../contract/plugin.ts";
import type { RerankChoice, Reranker } from "../contract/reranker.ts";
import { printCalls } from "../debug/print-calls.ts";
import { type MemoryDeadlines, usualDeadlines, withDeadline } from "../guard/deadline.ts";
import { createMemory } from "../guard/guarded-memory.ts";
import {
  abortSignal,
  callable,
  filled,
  kindOf,
  list,
  named,
  object,
  optional,
  readFields,
  required,
} from "../guard/runtime-type-checks.ts";
import { discoverPlugins } from "../plugins/discover.ts";
import { warn } from "../async-helpers.ts";
import { type FoundPlugin, type FoundPlugins, forbiddenBy, pluginNamed } from "../plugins/known-plugins.ts";
import { pluginOptions } from "../plugins/plugin-options.ts";
import {
  type Chosen as ChosenProvider,
  chooseEmbeddings,
  chooseReranker,
  requestedReranker,
  wellKnownProviders,
} from "./choose-providers.ts";
import {
  chooseFallback,
  defaultMemoryPlugin,
  memorySlot,
  memoryState,
  resolveMemorySlot,
  fallbackWords,
} from "./choose-memory-plugin.ts";
import { closeAll, loadPlugin } from "./open-plugin.ts";
import { shareInstance } from "./shared-instances.ts";
import { openManager } from "./open-manager.ts";
import { checkWorkspace, settingsFor, storePlaceOf } from "./check-workspace.ts";

export interface OpenMemoryOptions {
  /** From `loadConfig` or `parseConfig`, or an object with the keys of the file. Default: looked up. */
  config?: MemslotConfig | Readonly<Record<string, unknown>> | undefined;
  agentId: string;
  workspaceDir?: string | undefined;
  /** Folder that selects other programs' conversations: same Git repository or folder. Default: the workspace. */
  projectDir?: string | undefined;
  /** Plugins as objects, beside those that are found. */
  plugins?: readonly AnyPlugin[] | undefined;
  /** `import.meta.url` of the application: the plugins among its dependencies are built in. */
  host?: string | undefined;
  /** Overrides the settings; the application closes it. */
  embeddings?: EmbeddingProvider | undefined;
  /** Overrides the settings; the application closes it. */
  reranker?: Reranker | undefined;
  /** True if a search or sync follows at once: the embedding provider loads its libraries while the index opens. */
  warm?: boolean | undefined;
  /** Read-only: a missing index is not created on disk. */
  readOnly?: boolean | undefined;
  /** Rebuilds the index in a forced sync; damage does not prevent opening. */
  rebuild?: boolean | undefined;
  /** True if the process ends after one query: avoids slow start-up, such as a thread. */
  oneShot?: boolean | undefined;
  /** Receives notices, one line each. Default: a process warning. */
  notify?: ((line: string) => void) | undefined;
  signal?: AbortSignal | undefined;
  deadlines?: Partial<MemoryDeadlines> | undefined;
}

/** Opens the memory of an agent; equal concurrent opens share an instance. Throws `CONFIG` if it is disabled. */
export async function openMemory(options: OpenMemoryOptions): Promise<Memory> {
  checkNode();
  readFields(optionFields, required(object)("options", options));
  const { embeddings, reranker, signal } = options;
  const notify = options.notify ?? warn;
  printCalls(process.env, notify);
  const deadlines = { ...usualDeadlines, ...options.deadlines };
  const chosen = await choose(options, deadlines, notify);
  const { config, ownerAllowFrom, context, found, fallback } = chosen;
  let failure: unknown;
  const plugin = await loadPlugin<MemoryPlugin>(found, deadlines.openMs, signal).catch((error: unknown) => {
    // A standby answers for a plugin that cannot be loaded as for one that cannot be opened.
    if (fallback === undefined || signal?.aborted) throw error;
    failure = error;
    return undefined;
  });
  const handedInFallback = options.plugins?.find(({ id }) => id === fallback?.found.id);
  return shareInstance({
    key: {
      facts: { ...context, plugins: config.plugins, ownerAllowFrom, deadlines },
      objects: [plugin, embeddings, handedInFallback, reranker],
    },
    notify,
    signal,
    closeMs: deadlines.closeMs,
    open: (signal, notify) => openChosen({ ...chosen, plugin, failure }, { ...options, deadlines, signal, notify }),
  });
}

type Chosen = Awaited<ReturnType<typeof choose>>;

async function choose(options: OpenMemoryOptions, { openMs }: MemoryDeadlines, notify: (line: string) => void) {
  const { readOnly = false, oneShot = false, rebuild = false, projectDir } = options;
  const { config, otherWorkspace } = await configOf(options, notify);
  const { stateDir } = config;
  const agent = config.agent(options.agentId);
  // An unlisted agent must not share the files of a listed one.
  if (!config.agents.some(({ id }) => id === agent.id)) checkAgentPlace({ stateDir, agentId: agent.id });
  const state = memoryState(config, agent.id);
  if (!state.enabled) throw new MemoryError("CONFIG", `memory is disabled: ${state.reason}`);

  const limits = { what: "looking for workspace and plugins", deadlineMs: openMs, signals: [options.signal] };
  const { workspaceDir, plugins } = await withDeadline(limits, async () => {
    const checked = await checkWorkspace(otherWorkspace ?? agent.workspaceDir);
    const found = await discoverPlugins({
      config: { plugins: config.plugins, agents: [...config.agents, { workspaceDir: checked }] },
      plugins: options.plugins,
      host: options.host,
      installed: installedPluginsDir(stateDir),
      names: namesIn(config, agent.memorySearch),
    });
    return { workspaceDir: checked, plugins: found };
  });
  const found = choosePlugin(config, plugins, options);
  const own = await pluginOptions(found, config.plugins);
  const about = { agentId: agent.id, workspaceDir, settings: settingsFor(agent, workspaceDir), stateDir };
  /** What the plugin is opened with, as far as it is known before anything is opened. */
  const context = {
    ...about,
    storePlace: storePlaceOf({ ...about, pluginId: found.id }),
    projectDir:
      projectDir !== undefined && about.settings.sources.some((source) => source !== "memory")
        ? resolve(projectDir)
        : undefined,
    options: own,
    readOnly,
    oneShot,
    rebuild,
  };
  const fallback = await chooseFallback({ config, plugins, primary: found, options: own });
  return { config, ownerAllowFrom: agent.ownerAllowFrom, plugins, found, context, ...fallback };
}

async function openChosen(
  chosen: Chosen & { plugin: MemoryPlugin | undefined; failure: unknown },
  input: OpenMemoryOptions & { deadlines: MemoryDeadlines; signal: AbortSignal; notify: (line: string) => void },
): Promise<Memory> {
  const { config, ownerAllowFrom, plugins, found, context, notice } = chosen;
  const { embeddings, reranker, deadlines, signal, notify } = input;
  for (const { id, error } of plugins.broken)
    if (id === undefined || forbiddenBy({ id }, config.plugins) === undefined) notify(error.message);
  if (notice !== undefined) notify(notice);
  const offered = { config, settings: context.settings, plugins, deadlineMs: deadlines.openMs, signal };
  const meaning = await chooseEmbeddings({ ...offered, embeddings });
  let ranking: ChosenProvider<RerankChoice> | undefined;
  const onClose = (): Promise<void> => closeAll([meaning.close(), ranking?.close()]);
  try {
    ranking = await chooseReranker({ ...offered, reranker });
    const choices = { embeddings: meaning.choice, rerank: ranking.choice };
    const opened = openManager({ ...chosen, context: { ...context, ...choices, notify, signal }, deadlines });
    // Afterwards, since an index may open in its own thread. A failure here recurs on use.
    if (input.warm === true) meaning.choice.provider?.warm?.().catch(() => undefined);
    return createMemory(await opened, {
      ...context,
      ...choices,
      ownerAllowFrom,
      backend: found.id,
      deadlines,
      onClose,
    });
  } catch (error) {
    await onClose().catch(() => undefined);
    if (signal.aborted) throw error;
    throw pluginError(`memory plugin "${found.id}" could not be opened`, error);
  }
}

const optionFields = {
  agentId: required(named('the id of an agent, for example "main",', filled)),
  config: optional(object, undefined),
  workspaceDir: optional(named("the path of a folder", filled), undefined),
  projectDir: optional(named("the path of a folder", filled), undefined),
  plugins: optional(named("a list of plugins", list), undefined),
  host: optional(kindOf("import.meta.url of the application", isModule), undefined),
  notify: optional(callable, undefined),
  signal: optional(abortSignal, undefined),
};

function isModule(host: unknown): boolean {
  return typeof host === "string" && (host.startsWith("file:") || isAbsolute(host));
}

/** The configuration, with the workspace that replaces the configured one. */
async function configOf(
  { config, workspaceDir: workspace }: OpenMemoryOptions,
  notify: (line: string) => void,
): Promise<{ config: MemslotConfig; otherWorkspace?: string | undefined }> {
  if (config !== undefined && isConfig(config))
    return { config, otherWorkspace: workspace === undefined ? undefined : resolve(workspace) };
  const made = config === undefined ? await loadConfig({ workspace }) : parseConfig(config, { workspace });
  // The application gets the notices of its own configuration; these are new.
  for (const notice of made.notices) notify(notice);
  return { config: made };
}

function isConfig(config: object): config is MemslotConfig {
  return "agent" in config && typeof config.agent === "function" && "stateDir" in config;
}

function namesIn({ plugins }: MemslotConfig, settings: MemorySearchSettings): string[] {
  const { provider, fallback } = settings;
  const ownMeaning = ["none", "auto", defaultMemoryPlugin, ...wellKnownProviders, ...fallbackWords];
  const fallbacks = Object.values(plugins.entries).map((entry) => entry.fallback?.trim() ?? "");
  return [
    memorySlot(plugins) ?? "",
    provider.trim(),
    fallback.trim(),
    requestedReranker(settings),
    ...fallbacks,
  ].filter((name) => !ownMeaning.includes(name.toLowerCase()));
}

function choosePlugin(
  config: MemslotConfig,
  { known, broken, missing }: FoundPlugins,
  { host, plugins }: OpenMemoryOptions,
): FoundPlugin {
  const wanted = memorySlot(config.plugins);
  const isKnown = pluginNamed(wanted, known) !== undefined;
  const selected = isKnown ? undefined : pluginNamed(wanted, broken);
  if (selected) throw selected.error;
  const knowsNone = wanted === defaultMemoryPlugin || !known.some(({ kind }) => kind === "memory");
  if (!isKnown && knowsNone && host === undefined && plugins === undefined) {
    const step =
      'import openMemory from "memslot", which finds what is installed, or pass `plugins: [memoryCore]` from "@memslot/memory-core"';
    throw new MemoryError(
      "CONFIG",
      `there is no memory plugin "${wanted}" here: this openMemory knows none by itself; ${step}`,
    );
  }
  try {
    const decision = resolveMemorySlot(config, known, missing);
    if (decision.state === "selected") return decision.plugin;
    throw new MemoryError("CONFIG", `memory is disabled: ${decision.reason}`);
  } catch (error) {
    if (isKnown || broken.length === 0 || !MemoryError.is(error, "CONFIG")) throw error;
    const reasons = broken.map((plugin) => plugin.error.message).join("; ");
    throw new MemoryError("CONFIG", `${error.message} Not usable: ${reasons}`, { cause: error });
  }
}
