import { join } from "node:path";
import { show } from "../guard/values.ts";
import { isObject } from "../config/deep.ts";
import { manifestName, readJson } from "../config/packages.ts";
import { nearestWord } from "../text/nearest-word.ts";
import { MemoryError, messageOf } from "../contract/errors.ts";
import { type PluginManifest, memoryFeatures } from "../contract/plugin.ts";
import { kindProblem, kindWords } from "./kinds.ts";
import { reservedProblem } from "./reserved-fields.ts";

// What a slot, a spare or a provider key means by itself.
const reservedIds = ["none", "auto", "builtin", "keyword"];

/** Why a manifest cannot be used, with the id it gives itself, where it gives one. */
export interface ManifestProblem {
  id: string | undefined;
  error: MemoryError;
}

/** Reads and checks the manifest of a plugin folder. */
export async function readManifest(folder: string): Promise<PluginManifest | ManifestProblem> {
  const file = join(folder, manifestName);
  let manifest: unknown;
  try {
    manifest = await readJson(file);
  } catch (error) {
    return {
      id: undefined,
      error: new MemoryError("PLUGIN", `plugin ${folder}: ${file} cannot be read: ${messageOf(error)}`, {
        cause: error,
      }),
    };
  }
  const problem = problemOf(manifest);
  if (problem === undefined) return manifest as PluginManifest;
  const id = idOf(manifest);
  const whose = id === undefined ? `plugin ${folder}` : `plugin "${id}"`;
  return { id, error: new MemoryError("PLUGIN", `${whose}: ${file}: ${problem}`) };
}

function idOf(manifest: unknown): string | undefined {
  if (!isObject(manifest)) return undefined;
  const id = manifest["id"];
  return typeof id === "string" && id.trim() !== "" ? id : undefined;
}

function problemOf(manifest: unknown): string | undefined {
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

function featureProblem(features: unknown): string | undefined {
  if (!isListOfStrings(features)) return `"features" must be a list of names, not ${show(features)}`;
  const known = Object.keys(memoryFeatures);
  const unknown = features.find((feature) => !known.includes(feature));
  if (unknown === undefined) return undefined;
  const nearest = nearestWord(unknown, known);
  const hint = nearest === undefined ? `known are ${known.join(", ")}` : `did you mean "${nearest}"?`;
  return `"features": there is no feature ${show(unknown)}; ${hint}`;
}

function isListOfStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
