import { isAbsolute, resolve } from "node:path";
import { checkAgentPlace } from "../config/names.ts";
import { checkNode, loadConfig, parseConfig } from "../config/load-config.ts";
import { installedPluginsDir } from "../config/packages.ts";
import { type MemorySearchSettings, type MemslotConfig, isClientSource } from "../contract/config.ts";
import type { EmbeddingProvider } from "../contract/embedding.ts";
import { MemoryError, pluginError } from "../contract/errors.ts";
import type { Memory } from "../contract/memory.ts";
import { type AnyPlugin, type MemoryPlugin, defineMemoryPlugin } from "../contract/plugin.ts";
import type { RerankChoice, Reranker } from "../contract/reranker.ts";
import { printCalls } from "../debug/print-calls.ts";
import { type MemoryDeadlines, usualDeadlines, withDeadline } from "../guard/deadline.ts";
import { createMemory } from "../guard/guard.ts";
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
} from "../guard/values.ts";
import { discoverPlugins } from "../plugins/discover.ts";
import { type FoundPlugin, type FoundPlugins, forbiddenBy, pluginNamed } from "../plugins/known-plugins.ts";
import { pluginOptions } from "../plugins/plugin-options.ts";
import {
  type Chosen as ChosenProvider,
  chooseEmbeddings,
  chooseReranker,
  requestedReranker,
  wellKnownProviders,
} from "./choose-providers.ts";
import { chooseSpare, defaultMemoryPlugin, memorySlot, memoryState, resolveMemorySlot, spareWords } from "./slot.ts";
import { closeAll, loadPlugin } from "./open-plugin.ts";
import { shareInstance } from "./instances.ts";
import { openManager } from "./open-manager.ts";
import { checkWorkspace, settingsFor, storePlaceOf } from "./workspace.ts";

export interface OpenMemoryOptions {
  /** From `loadConfig` or `parseConfig`, or an object as it would stand in the file. Left out: it is looked up. */
  config?: MemslotConfig | Readonly<Record<string, unknown>> | undefined;
  /** Each agent has its own index; there is no default agent here. */
  agentId: string;
  /** In place of the agent's workspace. A relative path starts at the current folder. */
  workspaceDir?: string | undefined;
  /**
   * The folder that is asked from; the workspace if left out. Of other programs' conversations (`clientSources`) those that
   * were had in the same project are found: in the same Git repository, or else in this very folder.
   */
  projectDir?: string | undefined;
  /** Plugins as objects, beside those that are found. */
  plugins?: readonly AnyPlugin[] | undefined;
  /** `import.meta.url` of the application: the plugins among its dependencies are built in. */
  host?: string | undefined;
  /** Used whatever the settings say, and closed by the application. */
  embeddings?: EmbeddingProvider | undefined;
  /** Used whatever the settings say, and closed by the application. */
  reranker?: Reranker | undefined;
  /** A search or a sync follows at once: the embedding provider loads its libraries while the index is opened. */
  warm?: boolean | undefined;
  /** Only to look: an index that is not there is not made on disk. */
  lookOnly?: boolean | undefined;
  /** A person asks for a rebuild of the index, by a forced sync: damage does not keep it from opening, and is repaired. */
  rebuild?: boolean | undefined;
  /** For a process that asks one question and ends. Its thread may be held up by the index, which saves starting another. */
  oneShot?: boolean | undefined;
  /** Takes what the user should know, a line at a time. Left out: a process warning. */
  notify?: ((line: string) => void) | undefined;
  signal?: AbortSignal | undefined;
  deadlines?: Partial<MemoryDeadlines> | undefined;
}

/**
 * Opens the memory of an agent: configuration, workspace, slot, plugin, embedding provider, guard. Concurrent calls for
 * the same agent, workspace, settings and plugin share one instance; each closes its own handle. Throws `CONFIG`, with
 * a message that begins with `memory is disabled`, where `memoryState` says so. With `MEMSLOT_DEBUG` set, calls are printed
 * to stderr.
 */
export async function openMemory(options: OpenMemoryOptions): Promise<Memory> {
  checkNode();
  readFields(optionFields, required(object)("options", options));
  const { embeddings, reranker, signal, lookOnly = false, oneShot = false, rebuild = false } = options;
  const notify = options.notify ?? warn;
  printCalls(process.env, notify);
  const deadlines = { ...usualDeadlines, ...options.deadlines };
  const chosen = await choose(options, deadlines, notify);
  const { config, agent, workspaceDir, settings, found, pluginConfig, spare } = chosen;
  const load = (): Promise<MemoryPlugin> => loadPlugin(found, deadlines.openMs, signal);
  const plugin = spare === undefined ? await load() : await loadOrStandIn(found, load, signal);

  const facts = {
    agentId: agent.id,
    workspaceDir,
    stateDir: config.stateDir,
    settings,
    plugins: config.plugins,
    options: pluginConfig,
    deadlines,
    lookOnly,
    oneShot,
    rebuild,
    ownerAllowFrom: agent.ownerAllowFrom,
    projectDir: projectOf(options, settings),
  };
  const handedInSpare = options.plugins?.find(({ id }) => id === spare?.found.id);
  return shareInstance({
    // One that could not be loaded is another object each time.
    key: { facts, objects: ["failure" in plugin ? undefined : plugin, embeddings, handedInSpare, reranker] },
    notify,
    signal,
    closeMs: deadlines.closeMs,
    open: (signal, notify) => openChosen(chosen, plugin, { ...options, deadlines, signal, notify }),
  });
}

/** What a configuration says that is to be opened. */
type Chosen = Awaited<ReturnType<typeof choose>>;

async function choose(options: OpenMemoryOptions, { openMs }: MemoryDeadlines, notify: (line: string) => void) {
  const { config, otherWorkspace } = await configOf(options, notify);
  const agent = config.agent(options.agentId);
  // An agent that is listed has its id; another one must not share the files of one that has some.
  if (!config.agents.some(({ id }) => id === agent.id))
    checkAgentPlace({ stateDir: config.stateDir, agentId: agent.id });
  const state = memoryState(config, agent.id);
  if (!state.enabled) throw new MemoryError("CONFIG", `memory is disabled: ${state.reason}`);

  const limits = { what: "looking for workspace and plugins", deadlineMs: openMs, signals: [options.signal] };
  const { workspaceDir, plugins } = await withDeadline(limits, async () => {
    const checked = await checkWorkspace(otherWorkspace ?? agent.workspaceDir);
    const found = await discoverPlugins({
      config: { plugins: config.plugins, agents: [...config.agents, { workspaceDir: checked }] },
      plugins: options.plugins,
      host: options.host,
      installed: installedPluginsDir(config.stateDir),
      names: namesIn(config, agent.memorySearch),
    });
    return { workspaceDir: checked, plugins: found };
  });
  const settings = settingsFor(agent, workspaceDir);
  const found = choosePlugin(config, plugins, options);
  const pluginConfig = await pluginOptions(found, config.plugins);
  const { spare, notice } = await chooseSpare({ config, plugins, primary: found, options: pluginConfig });
  return { config, agent, workspaceDir, settings, plugins, found, pluginConfig, spare, notice };
}

/** Opens provider and plugin, and puts the guard before them. */
async function openChosen(
  { config, agent, workspaceDir, settings, plugins, found, pluginConfig, spare, notice }: Chosen,
  plugin: MemoryPlugin,
  input: OpenMemoryOptions & { deadlines: MemoryDeadlines; signal: AbortSignal; notify: (line: string) => void },
): Promise<Memory> {
  const { embeddings, reranker, lookOnly, oneShot, rebuild, warm, deadlines, signal, notify } = input;
  const { stateDir } = config;
  const { id: agentId, ownerAllowFrom } = agent;
  const about = { agentId, workspaceDir, settings };
  for (const { id, error } of plugins.broken)
    if (id === undefined || forbiddenBy({ id }, config.plugins) === undefined) notify(error.message);
  if (notice !== undefined) notify(notice);
  const offered = { config, settings, plugins, deadlineMs: deadlines.openMs, signal };
  const meaning = await chooseEmbeddings({ ...offered, embeddings });
  let ranking: ChosenProvider<RerankChoice> | undefined;
  const close = (): Promise<void> => closeAll([meaning.close(), ranking?.close()]);
  try {
    ranking = await chooseReranker({ ...offered, reranker });
    const [{ choice }, { choice: rerank }] = [meaning, ranking];
    const storePlace = storePlaceOf({ ...about, stateDir, pluginId: found.id });
    const projectDir = projectOf(input, settings);
    const given = {
      stateDir,
      storePlace,
      ...(projectDir !== undefined && { projectDir }),
      options: pluginConfig,
      embeddings: choice,
      rerank,
    };
    const how = { lookOnly, oneShot, rebuild, notify, signal };
    const opened = openManager({ plugin, context: { ...about, ...given, ...how }, spare, deadlines });
    // After it, as an index may open in a thread of its own. What fails here fails again when it is needed.
    if (warm === true) choice.provider?.warm?.().catch(() => undefined);
    const guard = { ownerAllowFrom, backend: found.id, embeddings: choice, rerank, deadlines, onClose: close };
    return createMemory(await opened, { ...about, ...guard });
  } catch (error) {
    // What went wrong first is what the caller has to know.
    await close().catch(() => undefined);
    if (signal.aborted) throw error;
    throw pluginError(`memory plugin "${found.id}" could not be opened`, error);
  }
}

/** The folder that is asked from, for whom it makes a difference. */
function projectOf({ projectDir }: OpenMemoryOptions, { sources }: MemorySearchSettings): string | undefined {
  return projectDir === undefined || !sources.some(isClientSource) ? undefined : resolve(projectDir);
}

/** In place of a plugin that cannot be loaded: a spare answers then as for one that cannot be opened. */
interface StandIn extends MemoryPlugin {
  readonly failure: unknown;
}

/** The plugin; where it cannot be loaded, one that opens with why, and after that with another try. */
async function loadOrStandIn(
  { id }: FoundPlugin,
  load: () => Promise<MemoryPlugin>,
  signal: AbortSignal | undefined,
): Promise<MemoryPlugin | StandIn> {
  try {
    return await load();
  } catch (error) {
    if (signal?.aborted) throw error;
    let isTold = false;
    return {
      ...defineMemoryPlugin({
        id,
        async open(context) {
          if (isTold) return (await load()).open(context);
          isTold = true;
          throw error;
        },
      }),
      failure: error,
    };
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

function warn(line: string): void {
  process.emitWarning(line, "MemslotWarning");
}

/** The configuration, and the workspace that takes the place of the one in it, where it does not know of that yet. */
async function configOf(
  { config, workspaceDir: workspace }: OpenMemoryOptions,
  notify: (line: string) => void,
): Promise<{ config: MemslotConfig; otherWorkspace?: string | undefined }> {
  if (config !== undefined && isConfig(config))
    return { config, otherWorkspace: workspace === undefined ? undefined : resolve(workspace) };
  const made = config === undefined ? await loadConfig({ workspace }) : parseConfig(config, { workspace });
  // Whoever makes a configuration is told its notices there; nobody has been told these.
  for (const notice of made.notices) notify(notice);
  return { config: made };
}

function isConfig(config: object): config is MemslotConfig {
  return "agent" in config && typeof config.agent === "function" && "stateDir" in config;
}

/** What may be the name of a package. An id that has a meaning of its own never is: a package may be called so by chance. */
function namesIn({ plugins }: MemslotConfig, settings: MemorySearchSettings): string[] {
  const { provider, fallback } = settings;
  const ownMeaning = ["none", "auto", defaultMemoryPlugin, ...wellKnownProviders, ...spareWords];
  const spares = Object.values(plugins.entries).map((entry) => entry.fallback?.trim() ?? "");
  return [memorySlot(plugins) ?? "", provider.trim(), fallback.trim(), requestedReranker(settings), ...spares].filter(
    (name) => !ownMeaning.includes(name.toLowerCase()),
  );
}

/** The plugin in the slot; a broken one is refused by its own reason. */
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
