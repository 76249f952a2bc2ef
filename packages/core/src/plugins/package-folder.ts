import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

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
