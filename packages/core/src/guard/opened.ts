import type { EmbeddingProvider } from "../contract/embedding.ts";
import { MemoryError } from "../contract/errors.ts";
import type { MemorySearchManager } from "../contract/manager.ts";
import type { Reranker } from "../contract/reranker.ts";
import { type Shape, checkFields } from "./answers.ts";
import { indexCallNames } from "./calls.ts";
import { callable, filled, flag, isObject, kindOf, orAbsent, show } from "./values.ts";

const capabilities = ["keyword", "vector", "ownsIndex"] as const;

/** Refuses what a memory plugin opened when it is no manager, naming the field. */
export function checkManager(pluginId: string, manager: MemorySearchManager): void {
  const what = `memory plugin "${pluginId}" opened something that is no manager`;
  checkOpened(what, manager, {
    search: callable,
    readFile: callable,
    status: callable,
    probeEmbeddingAvailability: callable,
    probeVectorAvailability: callable,
    ...Object.fromEntries(["sync", ...indexCallNames(), "close"].map((name) => [name, orAbsent(callable)])),
    capabilities: kindOf("an object", isObject),
  });
  const given = capabilities.map((name) => [`capabilities.${name}`, manager.capabilities[name]] as const);
  checkOpened(what, Object.fromEntries(given), Object.fromEntries(given.map(([name]) => [name, flag])));
}

/** Refuses what is no embedding provider, naming the field. `whose` says where it came from. */
export function checkProvider(whose: string, provider: EmbeddingProvider): void {
  const fields = { id: filled, model: filled, embedQuery: callable, embedBatch: callable };
  checkOpened(`${whose} is no embedding provider`, provider, fields);
}

/** Refuses what is no reranker, naming the field. `whose` says where it came from. */
export function checkReranker(whose: string, reranker: Reranker): void {
  checkOpened(`${whose} is no reranker`, reranker, { id: filled, model: filled, rerank: callable });
}

function checkOpened(what: string, opened: unknown, fields: Shape["fields"]): void {
  const refuse = (problem: string): never => {
    throw new MemoryError("PLUGIN", `${what}: ${problem}`);
  };
  if (!isObject(opened)) refuse(`"it" must be an object, not ${show(opened)}`);
  checkFields(opened, { fields }, refuse);
}
