import { join } from "node:path";
import { type RerankPluginContext, type Reranker, parseConfig } from "@memslot/core";
import { writeTinyGguf } from "@memslot/fakes/gguf";
import { tempFolder } from "@memslot/test-tools/files";
import { onTestFinished } from "vitest";
import { type RerankPluginOverrides, createRerankPlugin } from "../../src/rerank-plugin.ts";

/** The file of a reranker of some hundred kilobytes. */
export function tinyReranker(folder: string = tempFolder()): string {
  const path = join(folder, "tiny-reranker.gguf");
  writeTinyGguf(path, { ranks: true });
  return path;
}

export function contextOf(
  modelPath: string | undefined,
  stateDir: string = tempFolder(),
  env: Record<string, string> = {},
): RerankPluginContext {
  const memorySearch = { query: { rerank: { provider: "rerank-local", ...(modelPath && { modelPath }) } } };
  const config = parseConfig({ agents: { defaults: { memorySearch } } }, { baseDir: "/nowhere", stateDir, env });
  return {
    settings: config.agent("main").memorySearch,
    environment: (name) => config.environment(name),
    stateDir,
    options: { threads: 1 },
    signal: new AbortController().signal,
  };
}

/** Opens the plugin; the reranker is closed after the test. */
export async function open(
  modelPath: string,
  overrides: RerankPluginOverrides = {},
  env: Record<string, string> = {},
): Promise<Reranker> {
  const reranker = await createRerankPlugin(overrides).open(contextOf(modelPath, tempFolder(), env));
  onTestFinished(async () => reranker.close?.());
  return reranker;
}
