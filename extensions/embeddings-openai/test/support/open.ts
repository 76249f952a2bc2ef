import { type EmbeddingPluginContext, type EmbeddingProvider, parseConfig } from "@memslot/core";
import plugin from "@memslot/embeddings-openai";

export interface Setup {
  /** `agents.defaults.memorySearch`. */
  memorySearch?: Record<string, unknown> | undefined;
  /** `models.providers`. */
  providers?: Record<string, unknown> | undefined;
  env?: Record<string, string> | undefined;
  model?: string | undefined;
}

/** What the host would give the plugin for a configuration. */
export function contextOf({ memorySearch = {}, providers = {}, env = {}, model }: Setup): EmbeddingPluginContext {
  const options = { env, stateDir: "/nowhere", baseDir: "/" };
  const config = parseConfig({ agents: { defaults: { memorySearch } }, models: { providers } }, options);
  return {
    settings: config.agent("main").memorySearch,
    providers: config.providers,
    environment: (name) => config.environment(name),
    stateDir: config.stateDir,
    options: {},
    model,
    signal: new AbortController().signal,
  };
}

export function open(setup: Setup): Promise<EmbeddingProvider> {
  return plugin.open(contextOf(setup));
}
