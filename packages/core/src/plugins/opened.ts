import { indexCallNames } from "../guard/calls.ts";
import { show } from "../guard/values.ts";
import type { EmbeddingProvider } from "../contract/embedding.ts";
import { MemoryError } from "../contract/errors.ts";
import type { Reranker } from "../contract/reranker.ts";
import type { MemorySearchManager } from "../contract/manager.ts";

const managerMethods = [
  "search",
  "readFile",
  "status",
  "probeEmbeddingAvailability",
  "probeVectorAvailability",
] as const;
const capabilities = ["keyword", "vector", "ownsIndex"] as const;
const providerMethods = ["embedQuery", "embedBatch"] as const;

/** Refuses what a memory plugin opened when it is no manager, naming the field. */
export function checkManager(pluginId: string, manager: MemorySearchManager): void {
  const refuse = refusal(`memory plugin "${pluginId}" opened something that is no manager`);
  if (typeof manager !== "object" || manager === null) throw refuse("it", "an object", manager);
  for (const method of managerMethods)
    if (typeof manager[method] !== "function") throw refuse(method, "a function", manager[method]);
  for (const method of ["sync", ...indexCallNames(), "close"] as const) {
    if (manager[method] !== undefined && typeof manager[method] !== "function")
      throw refuse(method, "a function", manager[method]);
  }
  if (typeof manager.capabilities !== "object" || manager.capabilities === null)
    throw refuse("capabilities", "an object", manager.capabilities);
  for (const name of capabilities) {
    if (typeof manager.capabilities[name] !== "boolean")
      throw refuse(`capabilities.${name}`, "true or false", manager.capabilities[name]);
  }
}

/** Refuses what is no embedding provider, naming the field. `whose` says where it came from. */
export function checkProvider(whose: string, provider: EmbeddingProvider): void {
  const refuse = refusal(`${whose} is no embedding provider`);
  if (typeof provider !== "object" || provider === null) throw refuse("it", "an object", provider);
  for (const name of ["id", "model"] as const) {
    if (typeof provider[name] !== "string" || provider[name].trim() === "")
      throw refuse(name, "a non-empty string", provider[name]);
  }
  for (const method of providerMethods)
    if (typeof provider[method] !== "function") throw refuse(method, "a function", provider[method]);
}

/** Refuses what is no reranker, naming the field. `whose` says where it came from. */
export function checkReranker(whose: string, reranker: Reranker): void {
  const refuse = refusal(`${whose} is no reranker`);
  if (typeof reranker !== "object" || reranker === null) throw refuse("it", "an object", reranker);
  for (const name of ["id", "model"] as const) {
    if (typeof reranker[name] !== "string" || reranker[name].trim() === "")
      throw refuse(name, "a non-empty string", reranker[name]);
  }
  if (typeof reranker.rerank !== "function") throw refuse("rerank", "a function", reranker.rerank);
}

function refusal(what: string): (field: string, wanted: string, given: unknown) => MemoryError {
  return (field, wanted, given) =>
    new MemoryError("PLUGIN", `${what}: "${field}" must be ${wanted}, not ${show(given)}`);
}
