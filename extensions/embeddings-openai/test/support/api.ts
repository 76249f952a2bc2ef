import { type EmbeddingApi, type EmbeddingApiOptions, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import type { EmbeddingProvider } from "@memslot/core";
import { onTestFinished } from "vitest";
import { open } from "./open.ts";

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
