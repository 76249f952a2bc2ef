import { isObject } from "../config/deep.ts";
import { type PluginKind, type PluginManifest, CONTRACT, memoryFeatures } from "../contract/plugin.ts";
import { show } from "../guard/values.ts";
import { nearestWord } from "../text/nearest-word.ts";

/** Each kind of plugin with the function that makes one. */
export const defineOfKind: Readonly<Record<PluginKind, string>> = {
  memory: "defineMemoryPlugin",
  embedding: "defineEmbeddingPlugin",
  rerank: "defineRerankPlugin",
};
const kindWords = '"memory", "embedding" or "rerank"';

// What a slot, a spare or a provider key means by itself.
const reservedIds = ["none", "auto", "builtin", "keyword"];

/** Of the host. A plugin with a tool of the same name would answer in its place. */
const hostTools = ["memory_search", "memory_get", "memory_append", "memory_edit", "memory_forget"];

/** What other hosts let a plugin bring and this contract does not. */
const reservedFields = ["tools", "commands", "hooks"];

/** What is wrong with a manifest, naming the field; undefined where nothing is. */
export function manifestProblem(manifest: unknown): string | undefined {
  if (!isObject(manifest)) return `it must hold an object, not ${show(manifest)}`;
  const { id, kind, configSchema, name, description, features, limits } = manifest;
  if (typeof id !== "string" || id.trim() === "" || id !== id.trim())
    return `"id" must be a non-empty string without spaces around it, not ${show(id)}`;
  if (reservedIds.includes(id.toLowerCase()))
    return `"id" may not be "${id}", which has a meaning of its own in a configuration`;
  if (kind === undefined) return `"kind" is missing; it is ${kindWords}`;
  const wrongKind = kindProblem(kind);
  if (wrongKind !== undefined) return wrongKind;
  if (configSchema === undefined)
    return '"configSchema" is missing; write "configSchema": { "type": "object" } for a plugin that takes no options';
  if (!isObject(configSchema)) return `"configSchema" must be a JSON Schema object, not ${show(configSchema)}`;
  if (name !== undefined && typeof name !== "string") return `"name" must be a string, not ${show(name)}`;
  if (description !== undefined && typeof description !== "string")
    return `"description" must be a string, not ${show(description)}`;
  if (limits !== undefined && !isListOfStrings(limits))
    return `"limits" must be a list of sentences, not ${show(limits)}`;
  return (features === undefined ? undefined : featureProblem(features)) ?? reservedProblem(manifest);
}

/** What is wrong with the object of a plugin, naming the field; undefined where nothing is. */
export function pluginProblem(plugin: unknown, manifest?: Pick<PluginManifest, "id" | "kind">): string | undefined {
  if (!isObject(plugin)) return `it must be an object, not ${show(plugin)}`;
  const { id, kind, contract, open } = plugin;
  const wrongKind = kindProblem(kind);
  if (wrongKind !== undefined) return wrongKind;
  if (typeof id !== "string" || id.trim() === "") return `"id" must be a non-empty string, not ${show(id)}`;
  if (manifest && kind !== manifest.kind) return `"kind" is ${show(kind)}, and the manifest says "${manifest.kind}"`;
  if (manifest && id !== manifest.id) return `"id" is "${id}", and the manifest says "${manifest.id}"`;
  if (contract !== CONTRACT) return contractProblem(contract);
  if (typeof open !== "function") return `"open" must be a function, not ${show(open)}`;
  return reservedProblem(plugin);
}

function contractProblem(contract: unknown): string {
  const step =
    typeof contract === "number" && contract > CONTRACT
      ? "update memslot"
      : "get a version of the plugin that is made for it";
  return `"contract" is ${show(contract)}, and this version of memslot speaks contract ${CONTRACT}; ${step}`;
}

function kindProblem(kind: unknown): string | undefined {
  if (typeof kind === "string" && Object.hasOwn(defineOfKind, kind)) return undefined;
  return `"kind" must be ${kindWords}, not ${show(kind)}`;
}

function featureProblem(features: unknown): string | undefined {
  if (!isListOfStrings(features)) return `"features" must be a list of names, not ${show(features)}`;
  const known = Object.keys(memoryFeatures);
  const unknown = features.find((feature) => !known.includes(feature));
  if (unknown === undefined) return undefined;
  const nearest = nearestWord(unknown, known);
  const hint = nearest === undefined ? `known are ${known.join(", ")}` : `did you mean "${nearest}"?`;
  return `"features": there is no feature ${show(unknown)}; ${hint}`;
}

/**
 * Says that a manifest or a plugin brings something that nobody would call: it is refused, so that its author hears of
 * it. Undefined where there is no such field. Other fields that are not known here are left alone.
 */
function reservedProblem(fields: Readonly<Record<string, unknown>>): string | undefined {
  const field = reservedFields.find((name) => fields[name] !== undefined);
  if (field === undefined) return undefined;
  const clash = field === "tools" ? namesOf(fields[field]).find((name) => hostTools.includes(name)) : undefined;
  const why = clash === undefined ? "" : `, and "${clash}" is a tool of the host`;
  return `"${field}" must not be there: a plugin brings no ${field} in this contract${why}; remove the field`;
}

function namesOf(tools: unknown): string[] {
  if (!Array.isArray(tools)) return isObject(tools) ? Object.keys(tools) : [];
  return tools.flatMap((tool: unknown) => (isObject(tool) ? [String(tool["name"])] : [String(tool)]));
}

function isListOfStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
