import { readFileSync, readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import {
  type FoundPlugin,
  type FoundPlugins,
  type MemslotConfig,
  type OfferedPlugin,
  type PluginKind,
  discoverPlugins,
  forbiddenBy,
  installedPluginsDir,
  messageOf,
  resolveMemorySlot,
} from "@memslot/core";

type PluginState = "active" | "in use" | "ready" | "disabled" | "not installed" | "broken";

/** One plugin as `memslot plugins` tells of it. */
export interface SurveyedPlugin {
  id: string;
  kind?: PluginKind | undefined;
  version?: string | undefined;
  packageName?: string | undefined;
  description?: string | undefined;
  from?: "built in" | "installed" | "plugins.load.paths" | "package" | undefined;
  place?: string | undefined;
  state: PluginState;
  /** Why the state is what it is: a key of the configuration, or what is wrong with the plugin. */
  reason?: string | undefined;
  /** What installs it. */
  command?: string | undefined;
}

export interface PluginSurvey {
  plugins: SurveyedPlugin[];
  found: FoundPlugins;
  /** Why the slot of this configuration cannot be filled; undefined where it can. */
  slotProblem: string | undefined;
}

/** Every plugin that is known here, and those of this project that are not installed. No plugin's code runs. */
export async function surveyPlugins(
  config: MemslotConfig,
  { names = [] }: { names?: readonly string[] } = {},
): Promise<PluginSurvey> {
  const found = await findPlugins(config, names);
  const { states, problem } = slotStates(config, found);
  const known = found.known.map((plugin): SurveyedPlugin => {
    const { id, kind, packageName, description, place } = plugin;
    const state = kind === "memory" ? states.get(id) : stateOfKind[kind](config, plugin);
    const version = versionIn(place);
    return { id, kind, version, packageName, description, from: fromOf(plugin, config), place, ...(state ?? ready) };
  });
  const broken = found.broken.map(({ id, packageName, place, error }): SurveyedPlugin => ({
    id: id ?? packageName ?? path.basename(place),
    packageName,
    place,
    version: versionIn(place),
    state: "broken",
    reason: error.message,
  }));
  return { plugins: [...known, ...broken, ...found.missing.map(notInstalled)], found, slotProblem: problem };
}

/** What can be chosen as things are; `names` may be names of packages. */
export async function findPlugins(config: MemslotConfig, names: readonly string[] = []): Promise<FoundPlugins> {
  const inFile = [
    config.plugins.slots.memory,
    ...config.agents.flatMap(({ memorySearch }) => [memorySearch.provider, memorySearch.query.rerank.provider]),
  ];
  const meaningful = inFile.filter((name) => name !== undefined && !/^\s*(?:none|auto)?\s*$/iu.test(name));
  return await discoverPlugins({
    config,
    host: import.meta.url,
    installed: installedPluginsDir(config.stateDir),
    names: [...names, ...meaningful.filter((name) => name !== undefined)],
  });
}

const ready = { state: "ready" } as const;

function notInstalled({ id, kind, packageName }: OfferedPlugin): SurveyedPlugin {
  return { id, kind, packageName, state: "not installed", command: `memslot plugins add ${id}` };
}

type StateAndReason = Pick<SurveyedPlugin, "state" | "reason">;

function slotStates(
  config: MemslotConfig,
  { known, missing }: FoundPlugins,
): { states: Map<string, StateAndReason>; problem: string | undefined } {
  try {
    const decision = resolveMemorySlot(config, known, missing);
    const disabled = decision.disabled.map(({ id, reason }): [string, StateAndReason] => [
      id,
      { state: "disabled", reason },
    ]);
    const active: [string, StateAndReason][] =
      decision.state === "selected" ? [[decision.plugin.id, { state: "active", reason: "in the memory slot" }]] : [];
    const states = new Map([...active, ...disabled]);
    const spare = decision.state === "selected" ? spareOf(decision.plugin, config) : undefined;
    if (spare !== undefined && states.has(spare.id) && decision.state === "selected")
      states.set(spare.id, { state: "ready", reason: `the spare of "${decision.plugin.id}"` });
    return { states, problem: undefined };
  } catch (error) {
    const problem = messageOf(error);
    const states = known.map((plugin): [string, StateAndReason] => {
      const reason = forbiddenBy(plugin, config.plugins) ?? "the memory slot names another";
      return [plugin.id, { state: "disabled", reason }];
    });
    return { states: new Map(states), problem };
  }
}

function embeddingState({ agents, plugins }: MemslotConfig, plugin: FoundPlugin): StateAndReason {
  const forbidden = forbiddenBy(plugin, plugins);
  if (forbidden !== undefined) return { state: "disabled", reason: forbidden };
  const isNamed = (text: string): boolean => [plugin.id, plugin.packageName].includes(text.trim());
  const settings = agents.map(({ memorySearch }) => memorySearch);
  if (settings.some(({ provider }) => isNamed(provider)))
    return { state: "in use", reason: `memorySearch.provider is "${plugin.id}"` };
  if (settings.some(({ fallback }) => isNamed(fallback)))
    return { state: "ready", reason: `memorySearch.fallback is "${plugin.id}"` };
  if (settings.some(({ provider }) => /^\s*(?:auto)?\s*$/iu.test(provider)))
    return { state: "ready", reason: 'memorySearch.provider is "auto", which takes the first that can be used' };
  return { state: "ready", reason: `memorySearch.provider is "${settings[0]?.provider ?? ""}"` };
}

function rerankState({ agents, plugins }: MemslotConfig, plugin: FoundPlugin): StateAndReason {
  const forbidden = forbiddenBy(plugin, plugins);
  if (forbidden !== undefined) return { state: "disabled", reason: forbidden };
  const named = agents.map(({ memorySearch }) => memorySearch.query.rerank.provider.trim());
  const isNamed = named.some((name) => [plugin.id, plugin.packageName].includes(name));
  if (isNamed) return { state: "in use", reason: `memorySearch.query.rerank.provider is "${plugin.id}"` };
  return { state: "ready", reason: `memorySearch.query.rerank.provider is "${named[0] ?? "none"}"` };
}

const stateOfKind = { embedding: embeddingState, rerank: rerankState };

/** How the configuration came to know it. */
export function fromOf({ place, packageName }: FoundPlugin, config: MemslotConfig): SurveyedPlugin["from"] {
  const own = packageName === undefined ? undefined : path.join("node_modules", packageName);
  if (own !== undefined && realPath(path.join(installedPluginsDir(config.stateDir), own)) === place) return "installed";
  const isBelow = (folder: string): boolean => place === folder || place.startsWith(folder + path.sep);
  // A folder of plugins may hold links to them.
  const isLinked = (folder: string): boolean =>
    namesIn(folder).some((name) => realPath(path.join(folder, name)) === place);
  if (config.plugins.load.paths.some((folder) => isBelow(realPath(folder) ?? folder) || isLinked(folder)))
    return "plugins.load.paths";
  const { resolveFrom } = config.plugins;
  if (own !== undefined && resolveFrom !== undefined && realPath(path.join(resolveFrom, own)) === place)
    return "package";
  return "built in";
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // Not there, or a file.
  }
}

function realPath(file: string): string | undefined {
  try {
    return realpathSync.native(file);
  } catch {
    return undefined; // Not there, so that nothing comes from there.
  }
}

/** Of the package in a folder; undefined where it has none. */
export function versionIn(folder: string): string | undefined {
  try {
    const { version } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as { version?: unknown };
    return typeof version === "string" ? version : undefined;
  } catch {
    return undefined; // A plugin that was handed in has no folder.
  }
}

/** What answers while a memory plugin is unavailable. */
export interface Spare {
  id: string;
  /** True where it makes no embedding request. */
  isKeywordOnly: boolean;
}

/** The spare that the configuration names, else the one that the plugin has by itself; undefined where there is none. */
export function spareOf({ id, configSchema }: FoundPlugin, { plugins }: MemslotConfig): Spare | undefined {
  const entry = Object.hasOwn(plugins.entries, id) ? plugins.entries[id] : undefined;
  const properties = configSchema?.["properties"] as Record<string, { default?: unknown } | undefined> | undefined;
  const wanted = entry?.fallback ?? entry?.config["fallback"] ?? properties?.["fallback"]?.default;
  if (typeof wanted !== "string") return undefined;
  const word = wanted.trim().toLowerCase();
  if (word === "" || word === "none" || wanted.trim() === id) return undefined;
  const isWord = word === "builtin" || word === "keyword";
  return { id: isWord ? "memory-core" : wanted.trim(), isKeywordOnly: word === "keyword" };
}
