import { nearestWord } from "./config/nearest.ts";
import type { MemslotConfig } from "./config/types.ts";
import { openWithDeadline, withDeadline } from "./deadline.ts";
import type { EmbeddingChoice, EmbeddingProvider } from "./embedding.ts";
import { MemoryError, isAbort, messageOf } from "./errors.ts";
import type { EmbeddingPlugin } from "./plugin.ts";
import type { FoundPlugin, FoundPlugins } from "./plugins/found-plugin.ts";
import { checkProvider } from "./plugins/opened.ts";
import { pluginOptions } from "./plugins/plugin-options.ts";
import type { MemorySearchSettings } from "./settings.ts";
import { forbiddenBy } from "./slot.ts";

const providerKey = "agents.defaults.memorySearch.provider";

// Providers that the configuration knows by name. Without their plugin there is no error, only no vectors.
export const wellKnownProviders: readonly string[] = ["openai", "gemini", "local"];

export interface ChooseEmbeddingsOptions {
  config: Pick<MemslotConfig, "plugins" | "stateDir">;
  settings: MemorySearchSettings;
  plugins: FoundPlugins;
  /** A provider that the application made. It is used whatever the settings say, and closed by the application. */
  embeddings?: EmbeddingProvider | undefined;
  /** For importing a plugin, and again for opening its provider. */
  deadlineMs: number;
  signal?: AbortSignal | undefined;
}

/**
 * Chooses and opens the embedding provider. No provider is no error: the search then works by words, and the choice
 * says why and what to do about it. Throws `CONFIG` for an id that nobody knows, and `PLUGIN` for a plugin that cannot
 * be loaded.
 */
export async function chooseEmbeddings(options: ChooseEmbeddingsOptions): Promise<EmbeddingChoice> {
  const { settings, embeddings } = options;
  const requested = settings.provider.trim() === "" ? "auto" : settings.provider.trim();
  if (embeddings !== undefined) {
    checkProvider('the "embeddings" option', embeddings);
    return {
      provider: embeddings,
      requested,
      reason: `"${embeddings.id}" was given by the application`,
      degraded: false,
    };
  }
  if (requested.toLowerCase() === "none")
    return { provider: undefined, requested, reason: `${providerKey} is "none": keyword search only`, degraded: false };
  if (requested.toLowerCase() === "auto") return chooseEnabled(options, requested);
  return chooseNamed(options, requested);
}

/** `auto` uses a plugin that the configuration has switched on, and nothing that happens to be installed. */
async function chooseEnabled(options: ChooseEmbeddingsOptions, requested: string): Promise<EmbeddingChoice> {
  const { plugins, config } = options;
  const { entries } = config.plugins;
  const enabled = Object.keys(entries).filter((id) => entries[id]?.enabled === true);
  const failures: string[] = [];
  for (const id of enabled) {
    const plugin = plugins.known.find((known) => known.id === id);
    if (plugin?.kind !== "embedding" || forbiddenBy(plugin, config.plugins) !== undefined) continue;
    const opened = await openProvider(options, plugin);
    if ("provider" in opened)
      return { provider: opened.provider, requested, reason: `plugins.entries.${id}.enabled is true`, degraded: false };
    failures.push(opened.failure);
  }
  if (failures.length > 0)
    return { provider: undefined, requested, reason: `${failures.join("; ")}; keyword search only`, degraded: true };
  const installed = plugins.known
    .filter((plugin) => plugin.kind === "embedding" && forbiddenBy(plugin, config.plugins) === undefined)
    .map(({ id }) => `"${id}"`);
  const here = installed.length === 0 ? "" : `; found: ${installed.join(", ")}`;
  const reason = `no embedding provider is set up: keyword search only. To search by meaning too, set ${providerKey} to the id of an embedding plugin${here}`;
  return { provider: undefined, requested, reason, degraded: false };
}

async function chooseNamed(options: ChooseEmbeddingsOptions, requested: string): Promise<EmbeddingChoice> {
  const { plugins, config } = options;
  const plugin = findNamed(plugins.known, requested);
  if (!plugin) {
    const broken = findNamed(plugins.broken, requested);
    if (broken) throw broken.error;
    if (!wellKnownProviders.includes(requested)) throw new MemoryError("CONFIG", unknownMessage(requested, plugins));
    const reason = `the embedding provider "${requested}" is not installed: keyword search only. Install a plugin with this id and name its folder in plugins.load.paths, or set ${providerKey} to "none"`;
    return { provider: undefined, requested, reason, degraded: true };
  }
  if (plugin.kind !== "embedding") throw new MemoryError("CONFIG", unknownMessage(requested, plugins));
  const forbidden = forbiddenBy(plugin, config.plugins);
  if (forbidden !== undefined)
    throw new MemoryError("CONFIG", `${providerKey} is "${requested}", but ${forbidden}; change one of the two`);
  const opened = await openProvider(options, plugin);
  if ("provider" in opened)
    return { provider: opened.provider, requested, reason: `${providerKey} is "${requested}"`, degraded: false };
  return { provider: undefined, requested, reason: `${opened.failure}; keyword search only`, degraded: true };
}

function findNamed<Named extends { id?: string | undefined; packageName?: string | undefined }>(
  plugins: readonly Named[],
  name: string,
): Named | undefined {
  return plugins.find(({ id }) => id === name) ?? plugins.find(({ packageName }) => packageName === name);
}

/** What the plugin itself cannot help (no key, no network, no model) is a failure in its own words, not an error. */
async function openProvider(
  { config, settings, deadlineMs, signal }: ChooseEmbeddingsOptions,
  found: FoundPlugin,
): Promise<{ provider: EmbeddingProvider } | { failure: string }> {
  const whose = `embedding plugin "${found.id}"`;
  const signals = [signal];
  const plugin = (await withDeadline({ what: `loading ${whose}`, deadlineMs, signals }, () =>
    found.load(),
  )) as EmbeddingPlugin;
  const options = await pluginOptions(found, config.plugins);
  let provider: EmbeddingProvider;
  try {
    const limits = { what: `opening ${whose}`, deadlineMs, signals };
    provider = await openWithDeadline(limits, (inner) =>
      plugin.open({ settings, stateDir: config.stateDir, options, signal: inner }),
    );
  } catch (error) {
    if (isAbort(error) && signal?.aborted === true) throw error;
    return { failure: `the embedding provider "${found.id}" cannot be used: ${messageOf(error)}` };
  }
  checkProvider(`what ${whose} opened`, provider);
  return { provider };
}

function unknownMessage(requested: string, { known, broken }: FoundPlugins): string {
  const ids = [...known.filter(({ kind }) => kind === "embedding").map(({ id }) => id), ...wellKnownProviders];
  const nearest = nearestWord(requested, [...ids, "auto", "none"]);
  const question = nearest === undefined ? "" : ` Did you mean "${nearest}"?`;
  const list = [...new Set(ids), "auto", "none"].map((id) => `"${id}"`).join(", ");
  const unusable = broken.map(({ error }) => ` Not usable: ${error.message}.`).join("");
  return `${providerKey} is "${requested}", which is no embedding provider.${question} Known: ${list}.${unusable}`;
}
