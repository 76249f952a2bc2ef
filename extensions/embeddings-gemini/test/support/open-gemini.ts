import { type EmbeddingPluginContext, type EmbeddingProvider, type MemslotConfig, parseConfig } from "@memslot/core";
import plugin from "@memslot/embeddings-gemini";

export interface GeminiSetup {
  /** `agents.defaults.memorySearch`; the provider is `gemini` if left out. */
  memorySearch?: Record<string, unknown>;
  /** `models.providers`. */
  providers?: Record<string, unknown>;
  env?: Record<string, string>;
  /** What the host asks for in place of the configured model. */
  model?: string;
}

/** The context of a plugin, from a configuration that core has checked. */
export function contextOf({ memorySearch, providers, env = {}, model }: GeminiSetup): EmbeddingPluginContext {
  const config = parseConfig(
    {
      agents: { defaults: { memorySearch: { provider: "gemini", ...memorySearch } } },
      ...(providers && { models: { providers } }),
    },
    { env, baseDir: "/nowhere", stateDir: "/nowhere/state" },
  );
  return contextIn(config, model);
}

/** What the host gives the plugin in this configuration. */
export function contextIn(config: MemslotConfig, model?: string): EmbeddingPluginContext {
  return {
    settings: config.agent("main").memorySearch,
    providers: config.providers,
    environment: (name) => config.environment(name),
    stateDir: config.stateDir,
    options: {},
    signal: new AbortController().signal,
    model,
  };
}

export function openGemini(setup: GeminiSetup): Promise<EmbeddingProvider> {
  return plugin.open(contextOf(setup));
}

/** Opens it for a server of the test, with the key `test-key`. */
export function openAt(baseUrl: string, memorySearch: Record<string, unknown> = {}): Promise<EmbeddingProvider> {
  const { remote, ...rest } = memorySearch;
  return openGemini({
    memorySearch: { remote: { baseUrl, apiKey: "test-key", ...(remote as object | undefined) }, ...rest },
  });
}
