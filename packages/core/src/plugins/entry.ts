import { realpath } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { show } from "../guard/call-arguments.ts";
import { isObject } from "../config/deep.ts";
import { MemoryError, messageOf } from "../contract/errors.ts";
import { CONTRACT, type EmbeddingPlugin, type MemoryPlugin, type PluginManifest } from "../contract/plugin.ts";
import { entryFile } from "./entry-file.ts";
import { reservedProblem } from "./reserved-fields.ts";

/** Imports the entry of a plugin folder and checks that it is what the manifest says. Throws `PLUGIN`. */
export async function importEntry(
  folder: string,
  packageJson: Readonly<Record<string, unknown>>,
  manifest: PluginManifest,
): Promise<MemoryPlugin | EmbeddingPlugin> {
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
    const define = manifest.kind === "memory" ? "defineMemoryPlugin" : "defineEmbeddingPlugin";
    throw new MemoryError(
      "PLUGIN",
      `${whose}: ${file} has no default export; write \`export default ${define}({ … })\``,
    );
  }
  const plugin = module["default"];
  const problem = pluginProblem(plugin, manifest);
  if (problem !== undefined) throw new MemoryError("PLUGIN", `${whose}: ${file}: the default export: ${problem}`);
  return plugin as MemoryPlugin | EmbeddingPlugin;
}

/** What is wrong with the object of a plugin, naming the field; undefined where nothing is. */
export function pluginProblem(plugin: unknown, manifest?: Pick<PluginManifest, "id" | "kind">): string | undefined {
  if (!isObject(plugin)) return `it must be an object, not ${show(plugin)}`;
  const { id, kind, contract, open } = plugin;
  if (kind !== "memory" && kind !== "embedding") return `"kind" must be "memory" or "embedding", not ${show(kind)}`;
  if (typeof id !== "string" || id.trim() === "") return `"id" must be a non-empty string, not ${show(id)}`;
  if (manifest && kind !== manifest.kind) return `"kind" is "${kind}", and the manifest says "${manifest.kind}"`;
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
