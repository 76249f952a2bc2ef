import { type RerankPluginContext, type Reranker, parseConfig } from "@memslot/core";
import plugin from "@memslot/rerank-http";

export interface Setup {
  /** `memorySearch.query.rerank`. */
  rerank?: Record<string, unknown> | undefined;
  env?: Record<string, string> | undefined;
  options?: Record<string, unknown> | undefined;
}

/** Opens the plugin as the host would for a configuration. */
export async function open({ rerank = {}, env = {}, options = {} }: Setup): Promise<Reranker> {
  const content = { agents: { defaults: { memorySearch: { query: { rerank } } } } };
  const config = parseConfig(content, { env, stateDir: "/nowhere", baseDir: "/" });
  const context: RerankPluginContext = {
    settings: config.agent("main").memorySearch,
    environment: (name) => config.environment(name),
    stateDir: config.stateDir,
    options,
    signal: new AbortController().signal,
  };
  return plugin.open(context);
}
