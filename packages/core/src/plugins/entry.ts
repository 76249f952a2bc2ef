import { realpath } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { show } from "../guard/values.ts";
import { isObject } from "../config/deep.ts";
import { MemoryError, messageOf } from "../contract/errors.ts";
import { type AnyPlugin, type PluginManifest, CONTRACT } from "../contract/plugin.ts";
import { defineOfKind, kindProblem } from "./kinds.ts";
import { reservedProblem } from "./reserved-fields.ts";
import { createRequire } from "node:module";
import { isAbsolute, join, relative, sep } from "node:path";

/** Imports the entry of a plugin folder and checks that it is what the manifest says. Throws `PLUGIN`. */
export async function importEntry(
  folder: string,
  packageJson: Readonly<Record<string, unknown>>,
  manifest: PluginManifest,
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

// A package that runs from its sources runs beside others that do.
const source = import.meta.url.endsWith(".ts") ? ["@memslot/source"] : [];

/** What Node means by an `import` of a package, by names of its `exports`. */
const conditions: ReadonlySet<string> = new Set([...source, "node", "node-addons", "import", "module-sync", "default"]);

/**
 * The file that an `import` of the package in this folder would load: Node has no call for this that starts from
 * another module than the caller and uses the conditions of `import`. Throws an `Error` that says what is wrong.
 */
function entryFile(folder: string, packageJson: Readonly<Record<string, unknown>>): string {
  const exported = packageJson["exports"];
  if (exported === undefined || exported === null) return createRequire(join(folder, "package.json")).resolve(folder);
  const target = targetOf(mainExport(exported));
  if (target === undefined) throw new Error('"exports" in package.json has no main entry that can be imported');
  const file = join(folder, target);
  const inside = relative(folder, file);
  if (!target.startsWith("./") || inside.split(sep)[0] === ".." || isAbsolute(inside))
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
  if (Array.isArray(target)) return firstOf(target);
  if (!isObject(target)) return undefined;
  return firstOf(Object.entries(target).flatMap(([condition, inner]) => (conditions.has(condition) ? [inner] : [])));
}

function firstOf(targets: readonly unknown[]): string | undefined {
  for (const inner of targets) {
    const found = targetOf(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}
