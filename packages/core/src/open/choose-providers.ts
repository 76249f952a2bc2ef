import type { MemorySearchSettings, MemslotConfig } from "../contract/config.ts";
import type { EmbeddingChoice, EmbeddingProvider } from "../contract/embedding.ts";
import { MemoryError, isAbort, messageOf } from "../contract/errors.ts";
import type { RerankPlugin } from "../contract/plugin.ts";
import type { RerankChoice, Reranker } from "../contract/reranker.ts";
import { checkProvider, checkReranker } from "../guard/answers.ts";
import {
  type FoundPlugin,
  type FoundPlugins,
  forbiddenBy,
  howToAdd,
  idsOf,
  pluginNamed,
} from "../plugins/known-plugins.ts";
import {
  type EmbeddingRole,
  type OpenLimits,
  EmbeddingOpeners,
  addition,
  findPlugin,
  loadPlugin,
  pluginContext,
  tryToOpen,
} from "./open-plugin.ts";

const providerKey = "agents.defaults.memorySearch.provider";
const fallbackKey = "agents.defaults.memorySearch.fallback";

/**
 * Providers that the configuration knows by name, in the order in which `auto` looks at them. Without their plugin there
 * is no error, only no vectors.
 */
export const wellKnownProviders: readonly string[] = ["local", "openai", "gemini"];

/** With limits for importing a plugin, and again for opening its provider. */
export interface ChooseEmbeddingsOptions extends OpenLimits {
  config: Pick<MemslotConfig, "plugins" | "stateDir" | "providers" | "environment">;
  settings: MemorySearchSettings;
  plugins: FoundPlugins;
  /** A provider that the application made. It is used whatever the settings say, and closed by the application. */
  embeddings?: EmbeddingProvider | undefined;
}

export interface ChosenEmbeddings {
  choice: EmbeddingChoice;
  /** Closes every provider that was opened for the choice, also later by way of it. */
  close(): Promise<void>;
}

/** What every step of the choice works with. */
interface Choosing extends ChooseEmbeddingsOptions {
  openers: EmbeddingOpeners;
}

/** One that was opened, with its plugin; or none. */
interface Outcome {
  opened?: { provider: EmbeddingProvider; found: FoundPlugin; role: EmbeddingRole } | undefined;
  reason: string;
  degraded: boolean;
  passedOver?: { id: string; reason: string }[] | undefined;
}

/**
 * Chooses and opens the embedding provider. No provider is no error: the search then works by words, and the choice
 * says why and what to do about it. Throws `CONFIG` for an id that nobody knows, and `PLUGIN` for a plugin that cannot
 * be loaded.
 */
export async function chooseEmbeddings(options: ChooseEmbeddingsOptions): Promise<ChosenEmbeddings> {
  const { settings, embeddings } = options;
  const requested = settings.provider.trim() === "" ? "auto" : settings.provider.trim();
  const openers = new EmbeddingOpeners(options);
  const choosing: Choosing = { ...options, openers };
  const chosen = (choice: EmbeddingChoice): ChosenEmbeddings => ({ choice, close: () => openers.close() });
  if (embeddings !== undefined) {
    checkProvider('the "embeddings" option', embeddings);
    const reason = `"${embeddings.id}" was given by the application`;
    return chosen({ provider: embeddings, requested, reason, degraded: false });
  }
  if (requested.toLowerCase() === "none") {
    const reason = `${providerKey} is "none": keyword search only`;
    return chosen({ provider: undefined, requested, reason, degraded: false });
  }
  try {
    const outcome =
      requested.toLowerCase() === "auto" ? await chooseAuto(choosing) : await chooseNamed(choosing, requested);
    return chosen(await withSpare(choosing, outcome, requested, settings.fallback.trim()));
  } catch (error) {
    await openers.close().catch(() => undefined);
    throw error;
  }
}

/** A plugin that the configuration has switched on, then the well-known ones as far as they say that they can be used. */
async function chooseAuto(choosing: Choosing): Promise<Outcome> {
  const { plugins, config, openers, signal } = choosing;
  const passedOver: { id: string; reason: string }[] = [];
  const failures: string[] = [];
  const take = async (found: FoundPlugin, role: EmbeddingRole, reason: string): Promise<Outcome | undefined> => {
    const opened = await openers.open(found, { role, signal });
    if ("provider" in opened)
      return { opened: { provider: opened.provider, found, role }, reason, degraded: false, passedOver };
    failures.push(opened.failure);
    passedOver.push({ id: found.id, reason: opened.failure });
    return undefined;
  };
  const { entries } = config.plugins;
  for (const id of Object.keys(entries).filter((name) => entries[name]?.enabled === true)) {
    const found = plugins.known.find((known) => known.id === id);
    // A well-known one says itself whether it can be used.
    if (found?.kind !== "embedding" || wellKnownProviders.includes(id)) continue;
    if (forbiddenBy(found, config.plugins) !== undefined) continue;
    const outcome = await take(found, "named", `plugins.entries.${id}.enabled is true`);
    if (outcome) return outcome;
  }
  for (const id of wellKnownProviders) {
    const answer = await whetherAvailable(choosing, id);
    if ("found" in answer) {
      const outcome = await take(answer.found, "auto", `${providerKey} is "auto": ${answer.reason}`);
      if (outcome) return outcome;
    } else passedOver.push({ id, reason: answer.reason });
  }
  if (failures.length > 0) return { reason: `${failures.join("; ")}; keyword search only`, degraded: true, passedOver };
  const missing = missingPlugin(choosing);
  if (missing !== undefined) return { reason: missing, degraded: false, passedOver };
  const usable = plugins.known.filter((found) => forbiddenBy(found, config.plugins) === undefined);
  const others = idsOf("embedding", usable).filter((id) => !wellKnownProviders.includes(id));
  const here = others.length === 0 ? "" : `; found: ${others.map((id) => `"${id}"`).join(", ")}`;
  const reason = `no embedding provider is set up: keyword search only. To search by meaning too, run \`memslot embeddings on\` for a model on this machine, or set OPENAI_API_KEY or GEMINI_API_KEY, or ${providerKey} to "local" or the id of an embedding plugin${here}`;
  return { reason, degraded: false, passedOver };
}

/** That there is a key, and no plugin that uses it; undefined where there is no such key. */
function missingPlugin({ config, settings, plugins }: Choosing): string | undefined {
  for (const id of new Set([...wellKnownProviders, ...idsOf("embedding", plugins.missing)])) {
    if ([...plugins.known, ...plugins.broken].some((other) => other.id === id)) continue;
    const plugin = pluginNamed(id, plugins.missing) ?? { id };
    if (forbiddenBy(plugin, config.plugins) !== undefined) continue;
    const places = [];
    if (id === "local") {
      if (settings.local.modelPath !== undefined) places.push("memorySearch.local.modelPath");
    } else {
      const variable = keyVariable(id);
      if (config.environment(variable) !== undefined) places.push(variable);
      if (config.providers[id]?.apiKey !== undefined) places.push(`models.providers.${id}.apiKey`);
    }
    if (id === "openai" && settings.remote.apiKey !== undefined) places.push("memorySearch.remote.apiKey");
    if (places.length > 0)
      return `${places.join(" and ")} ${places.length === 1 ? "is" : "are"} set, but the embedding plugin "${id}" is not installed: keyword search only. To search by meaning too, ${howToAdd(plugin)}`;
  }
  return undefined;
}

/** The variable of the environment that holds the key of a provider, by the custom of all of them. */
function keyVariable(id: string): string {
  return `${id.toUpperCase().replaceAll("-", "_")}_API_KEY`;
}

async function whetherAvailable(
  { plugins, config, openers, signal }: Choosing,
  id: string,
): Promise<{ found: FoundPlugin; reason: string } | { reason: string }> {
  const found = plugins.known.find((known) => known.id === id && known.kind === "embedding");
  if (!found) return { reason: plugins.broken.find((broken) => broken.id === id)?.error.message ?? "not installed" };
  const forbidden = forbiddenBy(found, config.plugins);
  if (forbidden !== undefined) return { reason: forbidden };
  try {
    const { ok, reason } = await openers.available(found, signal);
    return ok ? { found, reason } : { reason };
  } catch (error) {
    if (isAbort(error) && signal?.aborted === true) throw error;
    return { reason: messageOf(error) };
  }
}

async function chooseNamed(choosing: Choosing, requested: string): Promise<Outcome> {
  const found = findProvider(choosing, requested, providerKey);
  if (!found) {
    const reason = `the embedding provider "${requested}" is not installed: keyword search only. To add it, ${addition(requested, choosing.plugins)}; or set ${providerKey} to "none"`;
    return { reason, degraded: true };
  }
  const opened = await choosing.openers.open(found, { role: "named", signal: choosing.signal });
  if (!("provider" in opened)) return { reason: `${opened.failure}; keyword search only`, degraded: true };
  const reason = `${providerKey} is "${requested}"`;
  return { opened: { provider: opened.provider, found, role: "named" }, reason, degraded: false };
}

/** Adds what can take the place of the provider: at once where it could not be opened, later where it fails for good. */
async function withSpare(
  choosing: Choosing,
  outcome: Outcome,
  requested: string,
  fallback: string,
): Promise<EmbeddingChoice> {
  const { openers } = choosing;
  const { opened, reason, degraded, passedOver } = outcome;
  const wanted = fallback !== "" && fallback.toLowerCase() !== "none";
  const spare = wanted ? findProvider(choosing, fallback, fallbackKey) : undefined;
  const openSpare = async (signal: AbortSignal | undefined): Promise<EmbeddingProvider> => {
    if (!spare)
      throw new MemoryError(
        "UNAVAILABLE",
        `the embedding provider "${fallback}" (${fallbackKey}) is not installed; to add it, ${addition(fallback, choosing.plugins)}`,
      );
    const answer = await openers.open(spare, { role: "spare", signal });
    if ("provider" in answer) return answer.provider;
    throw new MemoryError("UNAVAILABLE", `${answer.failure} (${fallbackKey})`);
  };
  if (opened) {
    const { found, provider, role } = opened;
    return {
      provider,
      requested,
      reason,
      degraded,
      passedOver,
      spare: wanted && spare !== found ? { id: fallback, open: openSpare } : undefined,
      async openModel(model, signal) {
        const answer = await openers.open(found, { role, model, signal });
        if ("provider" in answer) return answer.provider;
        throw new MemoryError("UNAVAILABLE", answer.failure);
      },
    };
  }
  const none: EmbeddingChoice = { provider: undefined, requested, reason, degraded, passedOver };
  if (!wanted || fallback === requested) return none;
  try {
    const provider = await openSpare(choosing.signal);
    const why = reason.replace(/[;:] keyword search only\b.*$/su, "");
    return { ...none, provider, reason: why, fallback: { from: requested, to: fallback, reason: why } };
  } catch (error) {
    if (!MemoryError.is(error, "UNAVAILABLE")) throw error;
    return { ...none, reason: `${reason}; ${error.message}`, degraded: true };
  }
}

/** The plugin that a key names; undefined for a well-known or offered one that is not installed. */
function findProvider({ plugins, config }: Choosing, value: string, key: string): FoundPlugin | undefined {
  const ids = new Set([...idsOf("embedding", plugins.known), ...wellKnownProviders]);
  const names = [...ids, ...(key === providerKey ? ["auto", "none"] : ["none"])];
  const remark = plugins.broken.map(({ error }) => ` Not usable: ${error.message}.`).join("");
  const wanted = { key, value, kind: "embedding", names, wellKnown: wellKnownProviders, remark } as const;
  return findPlugin(wanted, plugins, config.plugins);
}

const key = "agents.defaults.memorySearch.query.rerank.provider";

/** With limits for importing a plugin, and again for opening its reranker. */
export interface ChooseRerankerOptions extends OpenLimits {
  config: Pick<MemslotConfig, "plugins" | "stateDir" | "environment">;
  settings: MemorySearchSettings;
  plugins: FoundPlugins;
  /** A reranker that the application made. It is used whatever the settings say, and closed by the application. */
  reranker?: Reranker | undefined;
}

export interface ChosenReranker {
  choice: RerankChoice;
  close(): Promise<void>;
}

/** The name in `query.rerank.provider`; `none` where it is blank. */
export function requestedReranker({ query }: Pick<MemorySearchSettings, "query">): string {
  const written = query.rerank.provider.trim();
  return written === "" || written.toLowerCase() === "none" ? "none" : written;
}

/**
 * Chooses and opens the reranker. None is no error: results keep their order. Throws `CONFIG` for an id that nobody
 * knows or that is forbidden, and `PLUGIN` for a plugin that cannot be loaded. What a plugin itself cannot help (no key,
 * no model) makes a choice that is `degraded`.
 */
export async function chooseReranker(options: ChooseRerankerOptions): Promise<ChosenReranker> {
  const { settings, reranker, plugins, config } = options;
  const chosen = (choice: RerankChoice, close = async (): Promise<void> => {}): ChosenReranker => ({ choice, close });
  if (reranker !== undefined) {
    checkReranker('the "reranker" option', reranker);
    const reason = `"${reranker.id}" was given by the application`;
    return chosen({ reranker, requested: "given", reason, degraded: false });
  }
  const value = requestedReranker(settings);
  const none = (reason: string, degraded: boolean): ChosenReranker =>
    chosen({ reranker: undefined, requested: value, reason, degraded });
  if (value === "none") return none(`${key} is "none"`, false);
  const names = [...idsOf("rerank", [...plugins.known, ...plugins.missing]), "none"];
  const found = findPlugin({ key, value, kind: "rerank", names }, plugins, config.plugins);
  if (found === undefined)
    return none(
      `the reranker "${value}" is not installed, so results keep their order. To add it, ${addition(value, plugins)}; or set ${key} to "none"`,
      true,
    );
  const plugin = await loadPlugin<RerankPlugin>(found, options);
  const context = { settings, ...(await pluginContext(found, config)) };
  const answer = await tryToOpen(found, options, (signal) => plugin.open({ ...context, signal }));
  if ("failure" in answer) return none(`${answer.failure}; results keep their order`, true);
  const { opened } = answer;
  checkReranker(`what rerank plugin "${found.id}" opened`, opened);
  const reason = `${key} is "${value}"`;
  return chosen({ reranker: opened, requested: value, reason, degraded: false }, async () => opened.close?.());
}
