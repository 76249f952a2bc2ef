import { realpath } from "node:fs/promises";
import { createRequire } from "node:module";
import { isAbsolute, join, relative, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { isObject } from "../config/deep.ts";
import { MemoryError, messageOf } from "../contract/errors.ts";
import type { AnyPlugin, PluginManifest } from "../contract/plugin.ts";
import { defineOfKind, pluginProblem } from "./plugin-checks.ts";

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

/** The first file of a target: of a list the first that has one, of conditions the first that holds. */
function targetOf(target: unknown): string | undefined {
  if (typeof target === "string") return target;
  if (typeof target !== "object" || target === null) return undefined;
  const inner = Array.isArray(target)
    ? target
    : Object.entries(target).flatMap(([condition, each]) => (conditions.has(condition) ? [each] : []));
  return inner.map(targetOf).find((found) => found !== undefined);
}
