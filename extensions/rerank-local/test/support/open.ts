import { join } from "node:path";
import type { RerankPluginContext, Reranker } from "@memslot/core";
import { writeTinyGguf } from "@memslot/fakes/gguf";
import { contextOf } from "@memslot/fakes/plugin-context";
import { tempFolder } from "@memslot/test-tools/files";
import { onTestFinished } from "vitest";
import { type RerankPluginOverrides, createRerankPlugin } from "../../src/rerank-plugin.ts";

/** The file of a reranker of some hundred kilobytes. */
export function tinyReranker(folder: string = tempFolder()): string {
  const path = join(folder, "tiny-reranker.gguf");
  writeTinyGguf(path, { ranks: true });
  return path;
}

export function contextFor(modelPath: string | undefined): RerankPluginContext {
  const memorySearch = { query: { rerank: { provider: "rerank-local", ...(modelPath && { modelPath }) } } };
  return contextOf({ memorySearch, stateDir: tempFolder(), options: { threads: 1 } });
}

/** Opens the plugin; the reranker is closed after the test. */
export async function open(modelPath: string, overrides: RerankPluginOverrides = {}): Promise<Reranker> {
  const reranker = await createRerankPlugin(overrides).open(contextFor(modelPath));
  onTestFinished(async () => reranker.close?.());
  return reranker;
}
