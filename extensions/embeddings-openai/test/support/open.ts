import type { EmbeddingProvider } from "@memslot/core";
import plugin from "@memslot/embeddings-openai";
import { type EmbeddingApi, type EmbeddingApiOptions, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { type ContextSetup, contextOf } from "@memslot/fakes/plugin-context";
import { afterwards } from "@memslot/test-tools/files";
import { vi } from "vitest";

export function open(setup?: ContextSetup): Promise<EmbeddingProvider> {
  return plugin.open(contextOf(setup));
}

export interface ApiSetup {
  api?: EmbeddingApiOptions;
  memorySearch?: Record<string, unknown>;
  remote?: Record<string, unknown>;
  /** Of the base URL. */
  query?: string;
}

/** Starts the fake API for one test and opens the plugin on it. */
export async function openOnApi({ api: options, memorySearch, remote, query = "" }: ApiSetup = {}): Promise<{
  api: EmbeddingApi;
  provider: EmbeddingProvider;
}> {
  const api = await startEmbeddingApi(options);
  afterwards(() => api.close());
  const all = { baseUrl: `${api.url}/v1${query}`, ...remote };
  return { api, provider: await open({ memorySearch: { model: "some-model", ...memorySearch, remote: all } }) };
}

interface Sent {
  url: string;
  headers: Record<string, string>;
  body: unknown;
}

/** Answers for every host with one vector for each text. Undone by `vi.unstubAllGlobals`. */
export function stubHosts(answer: (sent: Sent) => Response = vectorsFor): Sent[] {
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
  return Response.json({ data: input.map((_, index) => ({ embedding: [1, 0, index] })), usage: { total_tokens: 3 } });
}
