import { createRequire } from "node:module";
import { isAbsolute, join, relative, sep } from "node:path";
import { isObject } from "../config/deep.ts";

// A package that runs from its sources runs beside others that do.
const source = import.meta.url.endsWith(".ts") ? ["@memslot/source"] : [];

/** What Node means by an `import` of a package, by names of its `exports`. */
const conditions: ReadonlySet<string> = new Set([...source, "node", "node-addons", "import", "module-sync", "default"]);

/**
 * The file that an `import` of the package in this folder would load: Node has no call for this that starts from
 * another module than the caller and uses the conditions of `import`. Throws an `Error` that says what is wrong.
 */
export function entryFile(folder: string, packageJson: Readonly<Record<string, unknown>>): string {
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
