import { existsSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { isObject } from "./deep.ts";

/** Beside the `package.json` of a plugin. */
export const manifestName = "memslot.plugin.json";

const packageName = /^(?:@[a-z0-9~][\w.~-]*\/)?[a-z0-9~][\w.~-]*$/i;

/** True for what could be the name of a package: no path, no address. */
export function isPackageName(name: string): boolean {
  return packageName.test(name);
}

/**
 * The folder of an installed package as a module in `from` would find it: an absolute path or `file:` address of a
 * file. The package need not list its manifest in its `exports`.
 */
export function packageFolder(name: string, from: string): string | undefined {
  const require = createRequire(from);
  for (const base of require.resolve.paths(name) ?? []) {
    const folder = join(base, name);
    if (existsSync(join(folder, "package.json"))) return folder;
  }
  try {
    // Where packages do not lie in folders called node_modules, only the loader itself knows.
    return dirname(require.resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

/** Where `memslot plugins add` installs plugins: an npm project whose dependencies are the plugins. */
export function installedPluginsDir(stateDir: string): string {
  return join(stateDir, "plugins");
}

export function hasManifest(folder: string): boolean {
  return existsSync(join(folder, manifestName));
}

/** The folders that one of `plugins.load.paths` stands for: itself, or the packages in it. Throws the errors of the file system. */
export async function foldersOfLoadPath(path: string): Promise<string[]> {
  const isPackage = (folder: string): boolean => hasManifest(folder) || existsSync(join(folder, "package.json"));
  if (isPackage(path)) return [path];
  const names = (await readdir(path)).toSorted();
  return names.map((name) => join(path, name)).filter(isPackage);
}

export async function readJson(file: string): Promise<unknown> {
  const text = await readFile(file, "utf8");
  // Some editors begin a file with a byte order mark, which JSON does not know.
  return JSON.parse(text.replace(/^\uFEFF/, ""));
}

/** The names that lists of a `package.json` have. */
export function dependenciesIn(packageJson: unknown, fields: readonly string[]): string[] {
  const names = fields.flatMap((field) => {
    const list = isObject(packageJson) ? packageJson[field] : undefined;
    return isObject(list) ? Object.keys(list) : [];
  });
  return [...new Set(names)];
}
