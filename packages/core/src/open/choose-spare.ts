import type { PluginsConfig } from "../contract/config.ts";
import { MemoryError } from "../contract/errors.ts";
import {
  type FoundPlugin,
  type FoundPlugins,
  forbiddenBy,
  howToAdd,
  idsOf,
  pluginNamed,
} from "../plugins/known-plugins.ts";
import { pluginOptions } from "../plugins/plugin-options.ts";
import { didYouMean } from "../text/nearest-word.ts";
import { defaultMemoryPlugin } from "./slot.ts";

/** The memory plugin that answers while the one in the slot is unavailable. */
export interface ChosenSpare {
  readonly found: FoundPlugin;
  readonly options: Readonly<Record<string, unknown>>;
  /** Where it is to work without an embedding provider: why. */
  readonly keywordOnly: string | undefined;
}

/** Words of `fallback` that are no id. */
export const spareWords: readonly string[] = ["builtin", "keyword", "none"];

type Wanted = NonNullable<ReturnType<typeof wantedSpare>>;

/**
 * What `plugins.entries.<id>.fallback` stands for, else `fallback` in the options of the plugin in the slot. Throws
 * `CONFIG`, naming the key, for a spare that cannot be used; where it is only the plugin's default, there is none then,
 * and a notice says why.
 */
export async function chooseSpare(input: {
  config: { readonly plugins: PluginsConfig };
  plugins: FoundPlugins;
  /** The plugin in the slot, with its options. */
  primary: FoundPlugin;
  options: Readonly<Record<string, unknown>>;
}): Promise<{ spare?: ChosenSpare | undefined; notice?: string | undefined }> {
  const { config, plugins, primary } = input;
  const wanted = wantedSpare(primary.id, config.plugins, input.options);
  if (wanted === undefined) return {};
  try {
    const found = findSpare(wanted, primary, plugins, config.plugins);
    const { value, key } = wanted;
    const keywordOnly = value === "keyword" ? `${key} is "keyword": "${found.id}" finds words only` : undefined;
    return { spare: { found, options: await pluginOptions(found, config.plugins), keywordOnly } };
  } catch (error) {
    if (!wanted.isDefault || !MemoryError.is(error)) throw error;
    return { notice: `"${primary.id}" has no spare: ${error.message}` };
  }
}

/** What is written, with its key; `isDefault`: it is not written, but the default of the plugin in the slot. */
function wantedSpare(id: string, { entries }: PluginsConfig, options: Readonly<Record<string, unknown>>) {
  const entry = Object.hasOwn(entries, id) ? entries[id] : undefined;
  const given = entry?.fallback ?? options["fallback"];
  if (typeof given !== "string") return undefined;
  const written = given.trim();
  const word = written.toLowerCase();
  const value = spareWords.includes(word) ? word : written;
  if (value === "" || value === "none") return undefined;
  if (entry?.fallback !== undefined) return { value, key: `plugins.entries.${id}.fallback`, isDefault: false };
  const key = id === "memory-qmd" ? "memory.qmd.fallback" : `plugins.entries.${id}.config.fallback`;
  return { value, key, isDefault: entry?.config["fallback"] === undefined };
}

function findSpare(
  { value, key }: Wanted,
  primary: FoundPlugin,
  { known, broken, missing }: FoundPlugins,
  plugins: PluginsConfig,
): FoundPlugin {
  const name = spareWords.includes(value) ? defaultMemoryPlugin : value;
  const says = `${key} is "${value}"${name === value ? "" : `, which is "${name}"`}`;
  const found = pluginNamed(name, known);
  if (!found) {
    const offered = pluginNamed(name, missing);
    const why =
      offered?.kind === "memory"
        ? `which is not installed; ${howToAdd(offered)}`
        : `and no memory plugin with this id was found.${didYouMean(name, [...idsOf("memory", known), ...spareWords])} ${possible(primary, known, "Write")}`;
    throw pluginNamed(name, broken)?.error ?? new MemoryError("CONFIG", `${says}, ${why}`);
  }
  if (found.kind !== "memory")
    throw new MemoryError("CONFIG", `${says}, an ${found.kind} plugin; ${possible(primary, known)}`);
  if (found === primary)
    throw new MemoryError("CONFIG", `${says}, the plugin that is in the slot itself; ${possible(primary, known)}`);
  const forbidden = forbiddenBy(found, plugins);
  if (forbidden !== undefined) throw new MemoryError("CONFIG", `${says}, but ${forbidden}; change one of the two`);
  return found;
}

function possible(primary: FoundPlugin, known: readonly FoundPlugin[], write = "write"): string {
  const all = idsOf("memory", known);
  const words = all.includes(defaultMemoryPlugin) && primary.id !== defaultMemoryPlugin ? spareWords : [];
  const ids = all.filter((id) => id !== primary.id && (words.length === 0 || id !== defaultMemoryPlugin));
  return `${write} one of ${[...new Set([...words, ...ids, "none"])].map((id) => `"${id}"`).join(", ")}`;
}
