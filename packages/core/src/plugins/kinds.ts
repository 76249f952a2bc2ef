import type { PluginKind } from "../contract/plugin.ts";
import { show } from "../guard/values.ts";

/** Each kind of plugin with the function that makes one. */
export const defineOfKind: Readonly<Record<PluginKind, string>> = {
  memory: "defineMemoryPlugin",
  embedding: "defineEmbeddingPlugin",
  rerank: "defineRerankPlugin",
};

export const kindWords = '"memory", "embedding" or "rerank"';

/** What is wrong with the kind that a manifest or a plugin gives itself; undefined where nothing is. */
export function kindProblem(kind: unknown): string | undefined {
  if (typeof kind === "string" && Object.hasOwn(defineOfKind, kind)) return undefined;
  return `"kind" must be ${kindWords}, not ${show(kind)}`;
}
