import { realpath } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isObject } from "../config/plain-data.ts";
import { isBelow } from "../config/paths.ts";
import { MemoryError, messageOf } from "../contract/errors.ts";
import { type AnyPlugin, type PluginKind, type PluginManifest, CONTRACT, memoryFeatures } from "../contract/plugin.ts";
import { fieldProblem, kindOf, named, object, orAbsent, show, text } from "../guard/runtime-type-checks.ts";
import { nearestWord } from "../text/nearest-word.ts";

const defineOfKind: Readonly<Record<PluginKind, string>> = {
  memory: "defineMemoryPlugin",
  embedding: "defineEmbeddingPlugin",
  rerank: "defineRerankPlugin",
};
const kindWords = '"memory", "embedding" or "rerank"';

// What a slot, a standby or a provider key means by itself.
const reservedIds = ["none", "auto", "builtin", "keyword"];

/** Fields that other hosts read from a plugin and this contract does not, such as tools that would hide the host's. */
const reservedFields = ["tools", "commands", "hooks"];

const manifestFields = {
  configSchema: named("a JSON Schema object", object),
  name: orAbsent(text),
  description: orAbsent(text),
  limits: orAbsent(kindOf("a list of sentences", isListOfStrings)),
};

export function manifestProblem(manifest: unknown): string | undefined {
  if (!isObject(manifest)) return `it must hold an object, not ${show(manifest)}`;
  const { id, kind, configSchema, features } = manifest;
  if (typeof id !== "string" || id.trim() === "" || id !== id.trim())
    return `"id" must be a non-empty string without spaces around it, not ${show(id)}`;
  if (reservedIds.includes(id.toLowerCase()))
    return `"id" may not be "${id}", which has a meaning of its own in a configuration`;
  if (kind === undefined) return `"kind" is missing; it is ${kindWords}`;
  const wrongKind = kindProblem(kind);
  if (wrongKind !== undefined) return wrongKind;
  if (configSchema === undefined)
    return '"configSchema" is missing; write "configSchema": { "type": "object" } for a plugin that takes no options';
  return (
    fieldProblem(manifest, manifestFields) ??
    (features === undefined ? undefined : featureProblem(features)) ??
    reservedProblem(manifest)
  );
}

/** What is wrong with the object of a plugin, naming the field; undefined if nothing is. */
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

/** Refuses fields that this contract does not call, so that the author notices. Unknown fields are ignored. */
function reservedProblem(fields: Readonly<Record<string, unknown>>): string | undefined {
  const field = reservedFields.find((name) => fields[name] !== undefined);
  if (field === undefined) return undefined;
  return `"${field}" must not be there: a plugin brings no ${field} in this contract; remove the field`;
}

function isListOfStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** Imports the entry of a plugin folder and checks that it is what the manifest says. Throws `PLUGIN`. */
export async function importEntry(
  folder: string,
  packageJson: Readonly<Record<string, unknown>>,
  manifest: Pick<PluginManifest, "id" | "kind">,
): Promise<AnyPlugin> {
  const whose = `plugin "${manifest.id}"`;
  let file: string;
  try {
    // By its real path, so that a linked package is the same module here and where its application imports it.
    file = await realpath(entryFile(folder, packageJson));
  } catch (error) {
    throw new MemoryError("PLUGIN", `${whose}: its entry in ${folder} cannot be found: ${messageOf(error)}`, {
      cause: error,
    });
  }
  let module: unknown;
  try {
    module = await import(pathToFileURL(file).href);
  } catch (error) {
    throw new MemoryError("PLUGIN", `${whose}: ${file} cannot be loaded: ${messageOf(error)}`, { cause: error });
  }
  if (!isObject(module) || module["default"] === undefined) {
    const define = defineOfKind[manifest.kind];
    throw new MemoryError(
      "PLUGIN",
      `${whose}: ${file} has no default export; write \`export default ${define}({ … })\``,
    );
  }
  const plugin = module["default"];
  const problem = pluginProblem(plugin, manifest);
  if (problem !== undefined) throw new MemoryError("PLUGIN", `${whose}: ${file}: the default export: ${problem}`);
  return plugin as AnyPlugin;
}

// A package that runs from its sources runs beside others that do.
const source = import.meta.url.endsWith(".ts") ? ["@memslot/source"] : [];

/** What Node means by an `import` of a package, by names of its `exports`. */
const conditions: ReadonlySet<string> = new Set([...source, "node", "node-addons", "import", "module-sync", "default"]);

/** The file that `import` of this package would load. Node has no API for that. Throws an `Error` with the reason. */
function entryFile(folder: string, packageJson: Readonly<Record<string, unknown>>): string {
  const exported = packageJson["exports"];
  if (exported === undefined || exported === null) return createRequire(join(folder, "package.json")).resolve(folder);
  const target = targetOf(mainExport(exported));
  if (target === undefined) throw new Error('"exports" in package.json has no main entry that can be imported');
  const file = join(folder, target);
  if (!target.startsWith("./") || !isBelow(file, folder))
    throw new Error(`"exports" in package.json leads out of the package: ${target}`);
  return file;
}

function mainExport(exported: unknown): unknown {
  if (!isObject(exported)) return exported;
  const keys = Object.keys(exported);
  return keys.some((key) => key.startsWith(".")) ? exported["."] : exported;
}

function targetOf(target: unknown): string | undefined {
  if (typeof target === "string") return target;
  if (typeof target !== "object" || target === null) return undefined;
  const inner = Array.isArray(target)
    ? target
    : Object.entries(target).flatMap(([condition, each]) => (conditions.has(condition) ? [each] : []));
  return inner.map(targetOf).find((found) => found !== undefined);
}
