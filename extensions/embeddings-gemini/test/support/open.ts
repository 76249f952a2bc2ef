import type { EmbeddingProvider } from "@memslot/core";
import plugin from "@memslot/embeddings-gemini";
import { type ContextSetup, contextOf } from "@memslot/fakes/plugin-context";

export function contextFor({ memorySearch, ...setup }: ContextSetup): ReturnType<typeof contextOf> {
  return contextOf({ ...setup, memorySearch: { provider: "gemini", ...memorySearch } });
}

export function open(setup: ContextSetup): Promise<EmbeddingProvider> {
  return plugin.open(contextFor(setup));
}

/** Opens the plugin for a server of the test, with the key `test-key`. */
export function openAt(baseUrl: string, memorySearch: Record<string, unknown> = {}): Promise<EmbeddingProvider> {
  const remote = { baseUrl, apiKey: "test-key", ...(memorySearch["remote"] as object | undefined) };
  return open({ memorySearch: { ...memorySearch, remote } });
}
