import type { MemslotConfig, PluginsConfig } from "../contract/config.ts";
import { MemoryError } from "../contract/errors.ts";
import {
  type FoundPlugin,
  type FoundPlugins,
  type OfferedPlugin,
  type SlotCandidate,
  forbiddenBy,
  howToAdd,
  idsOf,
  pluginNamed,
} from "../plugins/known-plugins.ts";
import { addition, findPlugin, quoted } from "./open-plugin.ts";
import { pluginOptions } from "../plugins/plugin-options.ts";
import { didYouMean } from "../text/nearest-word.ts";

export const defaultMemoryPlugin = "memory-core";

export interface DisabledPlugin {
  id: string;
  reason: string;
}

export type SlotDecision<Plugin extends SlotCandidate> =
  | { state: "selected"; plugin: Plugin; disabled: DisabledPlugin[] }
  | { state: "off"; reason: string; disabled: DisabledPlugin[] };

/** Resolves `plugins.slots.memory`. Throws `CONFIG`: another backend never replaces it silently. */
export function resolveMemorySlot<Plugin extends SlotCandidate>(
  config: Pick<MemslotConfig, "plugins">,
  knownPlugins: readonly Plugin[],
  missing: readonly OfferedPlugin[] = [],
): SlotDecision<Plugin> {
  const { plugins } = config;
  const wanted = memorySlot(plugins);
  if (wanted === undefined || plugins.enabled === false) {
    const reason = wanted === undefined ? "memory slot disabled" : "plugins.enabled is false";
    return { state: "off", reason, disabled: disabledBy(reason, knownPlugins, plugins) };
  }
  const plugin = pluginNamed(wanted, knownPlugins);
  const forbidden = plugin ? forbiddenBy(plugin, plugins) : undefined;
  if (plugin?.kind !== "memory")
    throw new MemoryError("CONFIG", unknownMessage(plugins, wanted, plugin, { known: knownPlugins, missing }));
  if (forbidden !== undefined) {
    throw new MemoryError(
      "CONFIG",
      `${slotWords(plugins, plugin.id)}, but ${forbidden}; change one of the two. ${listOf(knownPlugins.filter((other) => forbiddenBy(other, plugins) === undefined))}`,
    );
  }
  const others = knownPlugins.filter((other) => other !== plugin);
  return { state: "selected", plugin, disabled: disabledBy(`memory slot set to "${plugin.id}"`, others, plugins) };
}

export function memoryState(
  config: Pick<MemslotConfig, "plugins" | "agent">,
  agentId: string,
): { enabled: boolean; reason?: string | undefined } {
  if (memorySlot(config.plugins) === undefined) return { enabled: false, reason: 'plugins.slots.memory is "none"' };
  if (config.plugins.enabled === false) return { enabled: false, reason: "plugins.enabled is false" };
  const agent = config.agent(agentId);
  if (!agent.memorySearch.enabled)
    return { enabled: false, reason: `memorySearch.enabled is false for agent "${agent.id}"` };
  return { enabled: true };
}

export function memorySlot(plugins: PluginsConfig): string | undefined {
  const written = plugins.slots.memory?.trim() ?? "";
  if (written.toLowerCase() === "none") return undefined;
  return written === "" ? defaultMemoryPlugin : written;
}

function disabledBy(reason: string, others: readonly SlotCandidate[], plugins: PluginsConfig): DisabledPlugin[] {
  return others
    .filter(({ kind }) => kind === "memory")
    .map((other) => ({ id: other.id, reason: forbiddenBy(other, plugins) ?? reason }));
}

function unknownMessage(
  plugins: PluginsConfig,
  wanted: string,
  found: SlotCandidate | undefined,
  { known, missing }: { known: readonly SlotCandidate[]; missing: readonly OfferedPlugin[] },
): string {
  const offered = found ? undefined : pluginNamed(wanted, missing);
  if (offered?.kind === "memory")
    return `${slotWords(plugins, wanted)}, which is not installed; ${howToAdd(offered).reason}. ${listOf(known)}`;
  const what = found
    ? `which is ${found.kind === "embedding" ? "an" : "a"} ${found.kind} plugin and cannot fill the memory slot`
    : "and no plugin with this id was found";
  const question = found ? "" : didYouMean(wanted, [...idsOf("memory", [...known, ...missing]), "none"]);
  const other =
    "Another plugin can be chosen once `memslot plugins add` has installed it, or its folder is in plugins.load.paths.";
  return `${slotWords(plugins, wanted)}, ${what}.${question} ${listOf(known)} ${other}`;
}

function slotWords(plugins: PluginsConfig, wanted: string): string {
  if (plugins.slots.chosenBy !== undefined) return `${plugins.slots.chosenBy} chooses "${wanted}"`;
  const written = plugins.slots.memory?.trim() ?? "";
  return written === ""
    ? `plugins.slots.memory is not set, which means "${wanted}"`
    : `plugins.slots.memory is "${written}"`;
}

function listOf(known: readonly SlotCandidate[]): string {
  const ids = idsOf("memory", known);
  return ids.length === 0
    ? "No memory plugin is known."
    : `Known memory plugins: ${quoted(ids)}; "none" turns memory off.`;
}

export interface ChosenFallback {
  readonly found: FoundPlugin;
  readonly options: Readonly<Record<string, unknown>>;
  readonly keywordOnly: string | undefined;
}

export const fallbackWords: readonly string[] = ["builtin", "keyword", "none"];

/** Resolves the fallback from the configuration or the plugin. Throws `CONFIG` if a configured one is unusable. */
export async function chooseFallback(input: {
  config: { readonly plugins: PluginsConfig };
  plugins: FoundPlugins;
  primary: FoundPlugin;
  options: Readonly<Record<string, unknown>>;
}): Promise<{ fallback?: ChosenFallback | undefined; notice?: string | undefined }> {
  const { config, plugins, primary } = input;
  const wanted = wantedFallback(primary.id, config.plugins, input.options);
  if (wanted === undefined) return {};
  try {
    const { value, key } = wanted;
    const id = fallbackWords.includes(value) ? defaultMemoryPlugin : value;
    const others = idsOf("memory", plugins.known).filter((name) => name !== primary.id);
    const words = others.includes(defaultMemoryPlugin) ? fallbackWords : ["none"];
    const names = [...new Set([...words, ...others])];
    const found = findPlugin({ key, value, id, kind: "memory", names }, plugins, config.plugins);
    if (found === undefined)
      throw new MemoryError("CONFIG", `${key} is "${value}", which is not installed; ${addition(id, plugins).reason}`);
    if (found === primary)
      throw new MemoryError(
        "CONFIG",
        `${key} is "${value}", the plugin in the slot itself; write one of ${quoted(names)}`,
      );
    const keywordOnly = value === "keyword" ? `${key} is "keyword": "${found.id}" finds words only` : undefined;
    return { fallback: { found, options: await pluginOptions(found, config.plugins), keywordOnly } };
  } catch (error) {
    if (!wanted.isDefault || !MemoryError.is(error)) throw error;
    return { notice: `"${primary.id}" has no fallback: ${error.message}` };
  }
}

function wantedFallback(id: string, { entries }: PluginsConfig, options: Readonly<Record<string, unknown>>) {
  const entry = Object.hasOwn(entries, id) ? entries[id] : undefined;
  const given = entry?.fallback ?? options["fallback"];
  if (typeof given !== "string") return undefined;
  const written = given.trim();
  const word = written.toLowerCase();
  const value = fallbackWords.includes(word) ? word : written;
  if (value === "" || value === "none") return undefined;
  if (entry?.fallback !== undefined) return { value, key: `plugins.entries.${id}.fallback`, isDefault: false };
  const key = id === "memory-qmd" ? "memory.qmd.fallback" : `plugins.entries.${id}.config.fallback`;
  return { value, key, isDefault: entry?.config["fallback"] === undefined };
}
