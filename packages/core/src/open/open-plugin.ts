import type { MemslotConfig, PluginsConfig } from "../contract/config.ts";
import { MemoryError, isAbort, messageOf } from "../contract/errors.ts";
import type { AnyPlugin, PluginKind } from "../contract/plugin.ts";
import { openWithDeadline, withDeadline } from "../guard/deadline.ts";
import { type FoundPlugin, type FoundPlugins, forbiddenBy, howToAdd, pluginNamed } from "../plugins/known-plugins.ts";
import { pluginOptions } from "../plugins/plugin-options.ts";
import { didYouMean } from "../text/nearest-word.ts";

/** What plugins give, in words. */
const nouns: Readonly<Record<PluginKind, string>> = {
  memory: "memory",
  embedding: "embedding provider",
  rerank: "reranker",
};

interface Wanted {
  /** The key of the configuration that names the plugin, and what it says. */
  key: string;
  value: string;
  kind: PluginKind;
  /** All that may be written there, for the message about what may not. */
  names: readonly string[];
  /** Names that have a meaning without their plugin. */
  wellKnown?: readonly string[];
  /** Follows the names. */
  remark?: string;
}

/**
 * The plugin that a key names, by its id or package name; undefined for one that is well known or offered and not
 * installed. Throws its own reason for a broken one, and `CONFIG` for one that is unknown, of another kind or forbidden.
 */
export function findPlugin(
  { key, value, kind, names, wellKnown = [], remark = "" }: Wanted,
  { known, broken, missing }: FoundPlugins,
  config: PluginsConfig,
): FoundPlugin | undefined {
  const found = pluginNamed(value, known);
  const unusable = found ? undefined : pluginNamed(value, broken);
  if (unusable) throw unusable.error;
  if (!found && (wellKnown.includes(value) || pluginNamed(value, missing)?.kind === kind)) return undefined;
  if (found?.kind !== kind) {
    const list = names.map((name) => `"${name}"`).join(", ");
    const problem = `${key} is "${value}", which is no ${nouns[kind]}.${didYouMean(value, names)} Known: ${list}.`;
    throw new MemoryError("CONFIG", `${problem}${remark}`);
  }
  const forbidden = forbiddenBy(found, config);
  if (forbidden === undefined) return found;
  throw new MemoryError("CONFIG", `${key} is "${value}", but ${forbidden}; change one of the two`);
}

/** The commands that add a plugin that is not installed. */
export function addition(name: string, { missing }: FoundPlugins): string {
  return howToAdd(pluginNamed(name, missing) ?? { id: name });
}

export interface OpenLimits {
  deadlineMs: number;
  signal?: AbortSignal | undefined;
}

/** Imports a plugin in time. */
export async function loadPlugin<Plugin extends AnyPlugin>(
  found: FoundPlugin,
  { deadlineMs, signal }: OpenLimits,
): Promise<Plugin> {
  const limits = { what: `loading ${found.kind} plugin "${found.id}"`, deadlineMs, signals: [signal] };
  return (await withDeadline(limits, () => found.load())) as Plugin;
}

/** What every plugin is opened with. */
export async function pluginContext(
  found: FoundPlugin,
  config: Pick<MemslotConfig, "plugins" | "stateDir" | "environment">,
): Promise<Pick<MemslotConfig, "stateDir" | "environment"> & { options: Readonly<Record<string, unknown>> }> {
  const { environment, stateDir, plugins } = config;
  return { environment, stateDir, options: await pluginOptions(found, plugins) };
}

/** Opens a plugin in time. What it cannot help itself (no key, no model) is a failure in its own words, not an error. */
export async function tryToOpen<Opened extends { close?(): Promise<void> }>(
  { id, kind }: FoundPlugin,
  { deadlineMs, signal }: OpenLimits,
  open: (signal: AbortSignal) => Promise<Opened>,
): Promise<{ opened: Opened } | { failure: string }> {
  try {
    const limits = { what: `opening ${kind} plugin "${id}"`, deadlineMs, signals: [signal] };
    return { opened: await openWithDeadline(limits, open) };
  } catch (error) {
    if (isAbort(error) && signal?.aborted === true) throw error;
    return { failure: `the ${nouns[kind]} "${id}" cannot be used: ${messageOf(error)}` };
  }
}
