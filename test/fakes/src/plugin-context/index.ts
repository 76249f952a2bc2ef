import { type EmbeddingPluginContext, parseConfig } from "@memslot/core";

export interface ContextSetup {
  /** `agents.defaults.memorySearch`. */
  memorySearch?: Record<string, unknown> | undefined;
  /** `models.providers`. */
  providers?: Record<string, unknown> | undefined;
  env?: Record<string, string> | undefined;
  /** `plugins.entries.ID.config`. */
  options?: Record<string, unknown> | undefined;
  /** In place of the configured model. */
  model?: string | undefined;
  /** By default a folder that not even root can write. */
  stateDir?: string | undefined;
}

/** The context that the host passes to an embedding or rerank plugin, independent of this machine. */
export function contextOf(setup: ContextSetup = {}): EmbeddingPluginContext {
  const { memorySearch = {}, providers = {}, env = {}, options = {}, model, stateDir = "/proc/none" } = setup;
  const content = { agents: { defaults: { memorySearch } }, models: { providers } };
  const config = parseConfig(content, { env, stateDir, baseDir: "/nowhere" });
  return {
    settings: config.agent("main").memorySearch,
    providers: config.providers,
    environment: (name) => config.environment(name),
    stateDir: config.stateDir,
    options,
    model,
    signal: new AbortController().signal,
  };
}

/** Returns the error of a call. Throws if the call succeeds. */
export async function failureOf(call: Promise<unknown>): Promise<Error> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(outcome instanceof Error)) throw new Error("the call did not fail", { cause: outcome });
  return outcome;
}
