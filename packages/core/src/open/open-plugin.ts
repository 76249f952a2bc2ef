import type { MemorySearchSettings, MemslotConfig, PluginsConfig } from "../contract/config.ts";
import type { EmbeddingProvider } from "../contract/embedding.ts";
import { MemoryError, isAbort, sentenceOf } from "../contract/errors.ts";
import type {
  AnyPlugin,
  EmbeddingPlugin,
  EmbeddingPluginContext,
  EmbeddingSetup,
  PluginKind,
  RerankPluginContext,
} from "../contract/plugin.ts";
import { type Sentence, sentence } from "../contract/sentences.ts";
import { checkProvider } from "../guard/runtime-type-checks.ts";
import { openWithDeadline, withDeadline } from "../guard/deadline.ts";
import { type FoundPlugin, type FoundPlugins, forbiddenBy, howToAdd, pluginNamed } from "../plugins/known-plugins.ts";
import { pluginOptions } from "../plugins/plugin-options.ts";
import { didYouMean } from "../text/nearest-word.ts";

interface Wanted {
  key: string;
  value: string;
  /** The plugin that a word stands for; default: `value`. */
  id?: string;
  kind: PluginKind;
  names: readonly string[];
  /** Names that have a meaning without their plugin. */
  wellKnown?: readonly string[];
  remark?: string;
}

/** Finds a plugin by id or package name; undefined if a known one is not installed. Throws `CONFIG`. */
export function findPlugin(
  { key, value, id = value, kind, names, wellKnown = [], remark = "" }: Wanted,
  { known, broken, missing }: FoundPlugins,
  config: PluginsConfig,
): FoundPlugin | undefined {
  const found = pluginNamed(id, known);
  const unusable = found ? undefined : pluginNamed(id, broken);
  if (unusable) throw unusable.error;
  if (!found && (wellKnown.includes(id) || pluginNamed(id, missing)?.kind === kind)) return undefined;
  const written = `${key} is "${value}"${id === value ? "" : `, which is "${id}"`}`;
  if (found?.kind !== kind) {
    const problem = `${written}, which is not ${kind === "embedding" ? "an" : "a"} ${sentence(`plugin.${kind}`).reason}.${didYouMean(id, names)} Known: ${quoted(names)}.`;
    throw new MemoryError("CONFIG", `${problem}${remark}`);
  }
  const forbidden = forbiddenBy(found, config);
  if (forbidden === undefined) return found;
  throw new MemoryError("CONFIG", `${written}, but ${forbidden}; change one of the two`);
}

/** Names in quotes, as a list for a message. */
export function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ");
}

export function addition(name: string, { missing }: FoundPlugins): Sentence {
  return howToAdd(pluginNamed(name, missing) ?? { id: name });
}

export interface OpenersInput {
  config: Pick<MemslotConfig, "plugins" | "stateDir" | "providers" | "environment">;
  settings: MemorySearchSettings;
  deadlineMs: number;
}

export async function loadPlugin<Plugin extends AnyPlugin>(
  found: FoundPlugin,
  deadlineMs: number,
  signal: AbortSignal | undefined,
): Promise<Plugin> {
  const limits = { what: `loading ${found.kind} plugin "${found.id}"`, deadlineMs, signals: [signal] };
  return (await withDeadline(limits, () => found.load())) as Plugin;
}

export async function pluginContext(
  found: FoundPlugin,
  { config: { environment, stateDir, plugins }, settings }: OpenersInput,
): Promise<Omit<RerankPluginContext, "signal">> {
  return { settings, environment, stateDir, options: await pluginOptions(found, plugins) };
}

/** Opens a plugin in time; a missing key or model is reported as a reason, not thrown. */
export async function tryToOpen<Opened extends { close?(): Promise<void> }>(
  { id, kind }: FoundPlugin,
  deadlineMs: number,
  signal: AbortSignal | undefined,
  open: (signal: AbortSignal) => Promise<Opened>,
): Promise<{ opened: Opened } | { failure: Sentence }> {
  try {
    const limits = { what: `opening ${kind} plugin "${id}"`, deadlineMs, signals: [signal] };
    return { opened: await openWithDeadline(limits, open) };
  } catch (error) {
    if (isAbort(error) && signal?.aborted === true) throw error;
    const failed = { kind: sentence(`plugin.${kind}`), id, error: sentenceOf(error) };
    return { failure: sentence("plugin.unusable", failed) };
  }
}

/** What an embedding plugin is opened for, which decides what of the settings is meant for it. */
export interface EmbeddingUse {
  role: "named" | "auto" | "fallback";
  model?: string | undefined;
  signal: AbortSignal | undefined;
}

/** Opens embedding providers in time and closes them together. */
export class EmbeddingOpeners {
  readonly #input: OpenersInput;
  readonly #opened = new Set<EmbeddingProvider>();

  constructor(input: OpenersInput) {
    this.#input = input;
  }

  async available(found: FoundPlugin, signal: AbortSignal | undefined): Promise<Sentence & { ok: boolean }> {
    const plugin = await this.#load(found, signal);
    if (!plugin.available) return { ok: false, reason: "it does not say whether it can be used without being asked" };
    const answer = await this.#ask(found, { role: "auto", signal }, async (context) => plugin.available?.(context));
    return answer ?? { ok: false, reason: "it did not answer" };
  }

  /** What it needs on this machine; undefined for a plugin that does not say. */
  async setup(found: FoundPlugin, signal: AbortSignal | undefined): Promise<EmbeddingSetup | undefined> {
    const plugin = await this.#load(found, signal);
    return this.#ask(found, { role: "named", signal }, async (context) => plugin.setup?.(context));
  }

  /** Opens a provider. Throws `UNAVAILABLE` for what the plugin itself cannot help. */
  async open(found: FoundPlugin, use: EmbeddingUse): Promise<EmbeddingProvider> {
    const answer = await this.tryToOpen(found, use);
    if ("opened" in answer) return answer.opened;
    throw new MemoryError("UNAVAILABLE", answer.failure);
  }

  /** What the plugin itself cannot help (no key, no model) is a failure in its own words, not an error. */
  async tryToOpen(
    found: FoundPlugin,
    use: EmbeddingUse,
  ): Promise<{ opened: EmbeddingProvider } | { failure: Sentence }> {
    const { deadlineMs } = this.#input;
    const plugin = await this.#load(found, use.signal);
    const context = await this.#contextFor(found, use);
    const answer = await tryToOpen(found, deadlineMs, use.signal, (signal) => plugin.open({ ...context, signal }));
    if ("failure" in answer) return answer;
    checkProvider(`what embedding plugin "${found.id}" opened`, answer.opened);
    this.#opened.add(answer.opened);
    return answer;
  }

  /** Closes every provider that was opened. Throws the first error, after all of them. */
  async close(): Promise<void> {
    const providers = [...this.#opened];
    this.#opened.clear();
    await closeAll(providers.map(async (provider) => provider.close?.()));
  }

  #load(found: FoundPlugin, signal: AbortSignal | undefined): Promise<EmbeddingPlugin> {
    return loadPlugin(found, this.#input.deadlineMs, signal);
  }

  async #ask<T>(
    found: FoundPlugin,
    use: EmbeddingUse,
    call: (context: EmbeddingPluginContext) => Promise<T>,
  ): Promise<T> {
    const context = await this.#contextFor(found, use);
    const { deadlineMs } = this.#input;
    const limits = { what: `asking embedding plugin "${found.id}"`, deadlineMs, signals: [use.signal] };
    return withDeadline(limits, (signal) => call({ ...context, signal }));
  }

  async #contextFor(
    found: FoundPlugin,
    { role, model }: EmbeddingUse,
  ): Promise<Omit<EmbeddingPluginContext, "signal">> {
    const { settings, config } = this.#input;
    const context = await pluginContext(found, { ...this.#input, settings: settingsFor(role, found.id, settings) });
    return { ...context, providers: config.providers, ...(model !== undefined && { model }) };
  }
}

/** Waits until all have ended, and throws the first error. */
export async function closeAll(closings: readonly (Promise<void> | undefined)[]): Promise<void> {
  const outcomes = await Promise.allSettled(closings);
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  if (failed) throw failed.reason;
}

/** Settings for a provider: a fallback gets no model, address, key or headers; `auto` passes them to `openai` only. */
function settingsFor(role: EmbeddingUse["role"], id: string, settings: MemorySearchSettings): MemorySearchSettings {
  if (role === "named" || (role === "auto" && id === "openai")) return settings;
  return {
    ...settings,
    remote: { ...settings.remote, baseUrl: undefined, apiKey: undefined, headers: {} },
    model: undefined,
    inputType: undefined,
    queryInputType: undefined,
    documentInputType: undefined,
    outputDimensionality: undefined,
  };
}
