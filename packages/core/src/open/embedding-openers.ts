import type { MemslotConfig } from "../contract/config.ts";
import { openWithDeadline, withDeadline } from "../guard/deadline.ts";
import type { EmbeddingProvider } from "../contract/embedding.ts";
import { isAbort, messageOf } from "../contract/errors.ts";
import type { EmbeddingPlugin, EmbeddingPluginContext, EmbeddingSetup } from "../contract/plugin.ts";
import type { FoundPlugin } from "../plugins/found-plugin.ts";
import { checkProvider } from "../guard/opened.ts";
import { pluginOptions } from "../plugins/plugin-options.ts";
import type { MemorySearchSettings } from "../contract/settings.ts";

/** What a plugin is opened for, which decides what of the settings is meant for it. */
export type EmbeddingRole = "named" | "auto" | "spare";

export interface EmbeddingOpeners {
  /** Whether `auto` may take it. A plugin that does not say so may not. */
  available(found: FoundPlugin, signal: AbortSignal | undefined): Promise<{ ok: boolean; reason: string }>;
  /** What it needs on this machine; undefined for a plugin that does not say. */
  setup(found: FoundPlugin, signal: AbortSignal | undefined): Promise<EmbeddingSetup | undefined>;
  /** What the plugin itself cannot help (no key, no model) is a failure in its own words, not an error. */
  open(
    found: FoundPlugin,
    how: { role: EmbeddingRole; model?: string | undefined; signal: AbortSignal | undefined },
  ): Promise<{ provider: EmbeddingProvider } | { failure: string }>;
  /** Closes every provider that was opened. Throws the first error, after all of them. */
  close(): Promise<void>;
}

/** Opens embedding plugins with the settings of an agent, each within `deadlineMs`. */
export function createEmbeddingOpeners(input: {
  config: Pick<MemslotConfig, "plugins" | "stateDir" | "providers" | "environment">;
  settings: MemorySearchSettings;
  deadlineMs: number;
}): EmbeddingOpeners {
  const { config, settings, deadlineMs } = input;
  const opened = new Set<EmbeddingProvider>();

  async function load(found: FoundPlugin, signals: readonly (AbortSignal | undefined)[]): Promise<EmbeddingPlugin> {
    const what = `loading embedding plugin "${found.id}"`;
    return (await withDeadline({ what, deadlineMs, signals }, () => found.load())) as EmbeddingPlugin;
  }

  async function contextFor(
    found: FoundPlugin,
    role: EmbeddingRole,
  ): Promise<Omit<EmbeddingPluginContext, "signal" | "model">> {
    const { providers, environment, stateDir } = config;
    const options = await pluginOptions(found, config.plugins);
    return { settings: settingsFor(role, found.id, settings), providers, environment, stateDir, options };
  }

  return {
    async available(found, signal) {
      const signals = [signal];
      const plugin = await load(found, signals);
      if (!plugin.available) return { ok: false, reason: "it does not say whether it can be used without being asked" };
      const context = await contextFor(found, "auto");
      const what = `asking embedding plugin "${found.id}"`;
      return withDeadline(
        { what, deadlineMs, signals },
        async (inner) =>
          (await plugin.available?.({ ...context, signal: inner })) ?? { ok: false, reason: "it gave no answer" },
      );
    },

    async setup(found, signal) {
      const plugin = await load(found, [signal]);
      const context = await contextFor(found, "named");
      const what = `asking embedding plugin "${found.id}"`;
      return withDeadline({ what, deadlineMs, signals: [signal] }, async (inner) =>
        plugin.setup?.({ ...context, signal: inner }),
      );
    },

    async open(found, { role, model, signal }) {
      const whose = `embedding plugin "${found.id}"`;
      const plugin = await load(found, [signal]);
      const context = await contextFor(found, role);
      let provider: EmbeddingProvider;
      try {
        const limits = { what: `opening ${whose}`, deadlineMs, signals: [signal] };
        provider = await openWithDeadline(limits, (inner) => plugin.open({ ...context, model, signal: inner }));
      } catch (error) {
        if (isAbort(error) && signal?.aborted === true) throw error;
        return { failure: `the embedding provider "${found.id}" cannot be used: ${messageOf(error)}` };
      }
      checkProvider(`what ${whose} opened`, provider);
      opened.add(provider);
      return { provider };
    },

    async close() {
      const providers = [...opened];
      opened.clear();
      const closings = await Promise.allSettled(providers.map(async (provider) => provider.close?.()));
      const failed = closings.find((closing) => closing.status === "rejected");
      if (failed) throw failed.reason;
    },
  };
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
