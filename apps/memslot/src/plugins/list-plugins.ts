import { readFileSync, readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import { type MemslotConfig, type PluginKind, messageOf, MemoryError } from "@memslot/core";
import {
  type FoundPlugin,
  type FoundPlugins,
  type OfferedPlugin,
  discoverPlugins,
  forbiddenBy,
  installedPluginsDir,
  resolveMemorySlot,
  didYouMean,
} from "@memslot/core/host";

type PluginState = "active" | "in use" | "ready" | "disabled" | "not installed" | "broken";

/** One plugin in the list of `memslot plugins`. */
export interface SurveyedPlugin {
  id: string;
  kind?: PluginKind | undefined;
  version?: string | undefined;
  packageName?: string | undefined;
  description?: string | undefined;
  from?: "built in" | "installed" | "plugins.load.paths" | "package" | undefined;
  place?: string | undefined;
  state: PluginState;
  /** The reason for the state: a configuration key, or the error of the plugin. */
  reason?: string | undefined;
  command?: string | undefined;
}

export interface PluginSurvey {
  plugins: SurveyedPlugin[];
  found: FoundPlugins;
  /** Why the memory slot cannot be filled; undefined if it can. */
  slotProblem: string | undefined;
}

/** All known plugins, and official ones that are not installed. Runs no code of a plugin. */
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

/** The plugins that can be selected; `names` may be package names. */
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
    const standby = decision.state === "selected" ? standbyOf(decision.plugin, config) : undefined;
    if (standby !== undefined && states.has(standby.id) && decision.state === "selected")
      states.set(standby.id, { state: "ready", reason: `the standby of "${decision.plugin.id}"` });
    return { states, problem: undefined };
  } catch (error) {
    const problem = messageOf(error);
    const states = known.map((plugin): [string, StateAndReason] => {
      const reason = forbiddenBy(plugin, config.plugins) ?? "another plugin is in the memory slot";
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
    return { state: "ready", reason: 'memorySearch.provider is "auto", which uses the first available' };
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

/** How the configuration found it. */
export function fromOf({ place, packageName }: FoundPlugin, config: MemslotConfig): SurveyedPlugin["from"] {
  const own = packageName === undefined ? undefined : path.join("node_modules", packageName);
  if (own !== undefined && realPath(path.join(installedPluginsDir(config.stateDir), own)) === place) return "installed";
  const isBelow = (folder: string): boolean => place === folder || place.startsWith(folder + path.sep);
  // A plugin folder may contain links.
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
    return []; // Missing, or a file.
  }
}

function realPath(file: string): string | undefined {
  try {
    return realpathSync.native(file);
  } catch {
    return undefined; // Does not exist.
  }
}

export function versionIn(folder: string): string | undefined {
  try {
    const { version } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as { version?: unknown };
    return typeof version === "string" ? version : undefined;
  } catch {
    return undefined; // A plugin passed as an object has no folder.
  }
}

/** The backend that answers while a memory plugin is unavailable. */
export interface Standby {
  id: string;
  isKeywordOnly: boolean;
}

/** The configured standby, else the default of the plugin; undefined if there is none. */
export function standbyOf({ id, configSchema }: FoundPlugin, { plugins }: MemslotConfig): Standby | undefined {
  const entry = Object.hasOwn(plugins.entries, id) ? plugins.entries[id] : undefined;
  const properties = configSchema?.["properties"] as Record<string, { default?: unknown } | undefined> | undefined;
  const wanted = entry?.fallback ?? entry?.config["fallback"] ?? properties?.["fallback"]?.default;
  if (typeof wanted !== "string") return undefined;
  const word = wanted.trim().toLowerCase();
  if (word === "" || word === "none" || wanted.trim() === id) return undefined;
  const isWord = word === "builtin" || word === "keyword";
  return { id: isWord ? "memory-core" : wanted.trim(), isKeywordOnly: word === "keyword" };
}

/** The plugin with this id or package name. Throws `CONFIG` with the nearest id and all known ids. */
export function findOne(plugins: readonly SurveyedPlugin[], wanted: string): SurveyedPlugin {
  const found = plugins.find(({ id }) => id === wanted) ?? plugins.find(({ packageName }) => packageName === wanted);
  if (found !== undefined) return found;
  const ids = plugins.map(({ id }) => id);
  const others = "Add another one with `memslot plugins add NAME` or plugins.load.paths.";
  throw new MemoryError(
    "CONFIG",
    `unknown plugin "${wanted}".${didYouMean(wanted, ids)} Known: ${ids.join(", ")}. ${others}`,
  );
}

/** The configuration key that selects a plugin, by kind. */
export const keyOfKind: Readonly<Record<Exclude<PluginKind, "memory">, string>> = {
  embedding: "agents.defaults.memorySearch.provider",
  rerank: "agents.defaults.memorySearch.query.rerank.provider",
};

export function howToChoose(kind: PluginKind, id: string): string {
  return kind === "memory" ? `memslot plugins use ${id}` : `${keyOfKind[kind]}: "${id}"`;
}
