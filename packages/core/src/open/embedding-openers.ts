import type { MemslotConfig } from "../contract/config.ts";
import type { EmbeddingProvider } from "../contract/embedding.ts";
import type { EmbeddingPlugin, EmbeddingPluginContext, EmbeddingSetup } from "../contract/plugin.ts";
import type { MemorySearchSettings } from "../contract/settings.ts";
import { withDeadline } from "../guard/deadline.ts";
import { checkProvider } from "../guard/answers.ts";
import type { FoundPlugin } from "../plugins/known-plugins.ts";
import { loadPlugin, pluginContext, tryToOpen } from "./open-plugin.ts";

/** What a plugin is opened for, which decides what of the settings is meant for it. */
export type EmbeddingRole = "named" | "auto" | "spare";

interface OpenersInput {
  config: Pick<MemslotConfig, "plugins" | "stateDir" | "providers" | "environment">;
  settings: MemorySearchSettings;
  deadlineMs: number;
}

type Context = Omit<EmbeddingPluginContext, "signal" | "model">;

/** Opens embedding plugins with the settings of an agent, each within `deadlineMs`. */
export class EmbeddingOpeners {
  readonly #input: OpenersInput;
  readonly #opened = new Set<EmbeddingProvider>();

  constructor(input: OpenersInput) {
    this.#input = input;
  }

  /** Whether `auto` may take it. A plugin that does not say so may not. */
  async available(found: FoundPlugin, signal: AbortSignal | undefined): Promise<{ ok: boolean; reason: string }> {
    const plugin = await this.#load(found, signal);
    if (!plugin.available) return { ok: false, reason: "it does not say whether it can be used without being asked" };
    const answer = await this.#ask(found, "auto", signal, async (context) => plugin.available?.(context));
    return answer ?? { ok: false, reason: "it gave no answer" };
  }

  /** What it needs on this machine; undefined for a plugin that does not say. */
  async setup(found: FoundPlugin, signal: AbortSignal | undefined): Promise<EmbeddingSetup | undefined> {
    const plugin = await this.#load(found, signal);
    return this.#ask(found, "named", signal, async (context) => plugin.setup?.(context));
  }

  /** What the plugin itself cannot help (no key, no model) is a failure in its own words, not an error. */
  async open(
    found: FoundPlugin,
    { role, model, signal }: { role: EmbeddingRole; model?: string | undefined; signal: AbortSignal | undefined },
  ): Promise<{ provider: EmbeddingProvider } | { failure: string }> {
    const plugin = await this.#load(found, signal);
    const context = await this.#contextFor(found, role);
    const limits = { deadlineMs: this.#input.deadlineMs, signal };
    const answer = await tryToOpen(found, limits, (inner) => plugin.open({ ...context, model, signal: inner }));
    if ("failure" in answer) return answer;
    checkProvider(`what embedding plugin "${found.id}" opened`, answer.opened);
    this.#opened.add(answer.opened);
    return { provider: answer.opened };
  }

  /** Closes every provider that was opened. Throws the first error, after all of them. */
  async close(): Promise<void> {
    const providers = [...this.#opened];
    this.#opened.clear();
    await closeAll(providers.map(async (provider) => provider.close?.()));
  }

  #load(found: FoundPlugin, signal: AbortSignal | undefined): Promise<EmbeddingPlugin> {
    return loadPlugin(found, { deadlineMs: this.#input.deadlineMs, signal });
  }

  async #ask<T>(
    found: FoundPlugin,
    role: EmbeddingRole,
    signal: AbortSignal | undefined,
    call: (context: EmbeddingPluginContext) => Promise<T>,
  ): Promise<T> {
    const context = await this.#contextFor(found, role);
    const limits = { deadlineMs: this.#input.deadlineMs, signals: [signal] };
    const what = `asking embedding plugin "${found.id}"`;
    return withDeadline({ ...limits, what }, (inner) => call({ ...context, signal: inner }));
  }

  async #contextFor(found: FoundPlugin, role: EmbeddingRole): Promise<Context> {
    const { config, settings } = this.#input;
    const { providers } = config;
    return { settings: settingsFor(role, found.id, settings), providers, ...(await pluginContext(found, config)) };
  }
}

export function createEmbeddingOpeners(input: OpenersInput): EmbeddingOpeners {
  return new EmbeddingOpeners(input);
}

/** Waits until all have ended, and throws the first error. */
export async function closeAll(closings: readonly (Promise<void> | undefined)[]): Promise<void> {
  const outcomes = await Promise.allSettled(closings);
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  if (failed) throw failed.reason;
}

/**
 * Model, address, key and headers were written for one provider and go to no other: a spare has none of them, and `auto`
 * leaves them to `openai`, which every compatible server answers as.
 */
function settingsFor(role: EmbeddingRole, id: string, settings: MemorySearchSettings): MemorySearchSettings {
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
