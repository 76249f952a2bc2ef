import { type EmbeddingPluginContext, type EmbeddingProvider, parseConfig } from "@memslot/core";
import plugin from "@memslot/embeddings-openai";
import { type EmbeddingApi, type EmbeddingApiOptions, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { onTestFinished, vi } from "vitest";

export interface Setup {
  /** `agents.defaults.memorySearch`. */
  memorySearch?: Record<string, unknown> | undefined;
  /** `models.providers`. */
  providers?: Record<string, unknown> | undefined;
  env?: Record<string, string> | undefined;
  model?: string | undefined;
  stateDir?: string | undefined;
}

/** What the host would give the plugin for a configuration. */
export function contextOf({
  memorySearch = {},
  providers = {},
  env = {},
  model,
  // Not writable, for root either.
  stateDir = "/proc/none",
}: Setup): EmbeddingPluginContext {
  const options = { env, stateDir, baseDir: "/" };
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

/** Starts the fake API for one test and opens the plugin on it. */
export async function openOnApi(
  options: {
    api?: EmbeddingApiOptions | undefined;
    memorySearch?: Record<string, unknown> | undefined;
    remote?: Record<string, unknown> | undefined;
    /** Of the base URL. */
    query?: string | undefined;
  } = {},
): Promise<{ api: EmbeddingApi; provider: EmbeddingProvider }> {
  const api = await startEmbeddingApi(options.api);
  onTestFinished(() => api.close());
  const remote = {
    baseUrl: `${api.url}/v1${options.query === undefined ? "" : `?${options.query}`}`,
    ...options.remote,
  };
  return { api, provider: await open({ memorySearch: { model: "some-model", ...options.memorySearch, remote } }) };
}

/** What a promise is rejected with. */
export async function thrownBy(promise: Promise<unknown>): Promise<unknown> {
  const nothing = Symbol("nothing");
  const thrown = await promise.then(
    () => nothing,
    (error: unknown) => error,
  );
  if (thrown === nothing) throw new Error("it was not rejected");
  return thrown;
}

export interface Sent {
  url: string;
  headers: Record<string, string>;
  body: unknown;
}

/**
 * Puts a far end in the place of every host, so that addresses can be asked that are none of this machine. Answers one
 * vector for each text. Undone by `vi.unstubAllGlobals`.
 */
export function stubFarEnd(answer: (sent: Sent) => Response = vectorsFor): Sent[] {
  const log: Sent[] = [];
  vi.stubGlobal("fetch", async (url: URL, init: RequestInit = {}) => {
    const body: unknown = typeof init.body === "string" ? JSON.parse(init.body) : undefined;
    const sent = { url: url.href, headers: Object.fromEntries(new Headers(init.headers)), body };
    log.push(sent);
    return answer(sent);
  });
  return log;
}

function vectorsFor({ body }: Sent): Response {
  const { input } = body as { input: string[] };
  const data = input.map((_, index) => ({ object: "embedding", index, embedding: [1, 0, index] }));
  return Response.json({ object: "list", data, usage: { total_tokens: 3 } });
}
