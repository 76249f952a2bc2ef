import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { readFile, readdir, realpath, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { MemoryError } from "../contract/errors.ts";
import { isObject } from "./plain-data.ts";

export const manifestName = "memslot.plugin.json";

const packageName = /^(?:@[a-z0-9~][\w.~-]*\/)?[a-z0-9~][\w.~-]*$/i;

export function isPackageName(name: string): boolean {
  return packageName.test(name);
}

/** Returns the folder of an installed package as Node resolves it from the file `from` (path or `file:` address). */
export function packageFolder(name: string, from: string): string | undefined {
  const require = createRequire(from);
  for (const base of require.resolve.paths(name) ?? []) {
    const folder = join(base, name);
    if (existsSync(join(folder, "package.json"))) return folder;
  }
  try {
    // Only the loader knows where packages outside of node_modules are.
    return dirname(require.resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

export function installedPluginsDir(stateDir: string): string {
  return join(stateDir, "plugins");
}

export function hasManifest(folder: string): boolean {
  return existsSync(join(folder, manifestName));
}

export async function foldersOfLoadPath(path: string): Promise<string[]> {
  const isPackage = (folder: string): boolean => hasManifest(folder) || existsSync(join(folder, "package.json"));
  if (isPackage(path)) return [path];
  const names = (await readdir(path)).toSorted();
  return names.map((name) => join(path, name)).filter(isPackage);
}

export async function readJson(file: string): Promise<unknown> {
  // Synchronous: the files are small, and each command reads many.
  const text = readFileSync(file, "utf8");
  // Some editors begin a file with a byte order mark, which JSON does not know.
  return JSON.parse(text.replace(/^\uFEFF/, ""));
}

export function dependenciesIn(packageJson: unknown, fields: readonly string[]): string[] {
  const names = fields.flatMap((field) => {
    const list = isObject(packageJson) ? packageJson[field] : undefined;
    return isObject(list) ? Object.keys(list) : [];
  });
  return [...new Set(names)];
}

interface CodeHash {
  readonly sha256: string;
  readonly files: number;
}

const maxFiles = 20_000;
const maxBytes = 256 * 1024 * 1024;

const passedOver: ReadonlySet<string> = new Set(["node_modules", ".git"]);

/** Hashes all files of a folder and of its dependencies, or one file. Throws `CONFIG` above the size limits. */
export async function hashCode(place: string): Promise<CodeHash> {
  const hash = createHash("sha256");
  let files = 0;
  let bytes = 0;
  if (!(await stat(place)).isDirectory()) {
    await addFile(place, "");
    return { sha256: hash.digest("hex"), files: 1 };
  }
  const packages = new Set([await realpath(place)]);
  for (const folder of packages) {
    await addFolder(folder, "", new Set([folder]));
    const packageJson = await readJson(join(folder, "package.json")).catch(() => undefined);
    const lists = ["dependencies", "optionalDependencies", "peerDependencies"];
    for (const name of dependenciesIn(packageJson, lists).toSorted()) {
      const found = packageFolder(name, join(folder, "package.json"));
      hash.update(JSON.stringify(["depends on", name, found === undefined]));
      if (found !== undefined) packages.add(await realpath(found));
    }
  }
  return { sha256: hash.digest("hex"), files };

  async function addFolder(folder: string, inside: string, seen: Set<string>): Promise<void> {
    const names = (await readdir(folder)).filter((name) => !passedOver.has(name));
    for (const name of names.toSorted()) {
      const path = join(folder, name);
      const shown = `${inside}${name}`;
      // A broken link loads nothing, but its presence counts.
      const stats = await stat(path).catch(() => undefined);
      if (stats?.isFile() === true) await addFile(path, shown);
      else if (stats?.isDirectory() !== true) hash.update(JSON.stringify(["other", shown]));
      else {
        const real = await realpath(path);
        hash.update(JSON.stringify(["folder", shown, seen.has(real)]));
        if (!seen.has(real)) await addFolder(path, `${shown}/`, seen.add(real));
      }
    }
  }

  async function addFile(path: string, shown: string): Promise<void> {
    files += 1;
    bytes += (await stat(path)).size;
    if (files > maxFiles || bytes > maxBytes)
      throw new MemoryError(
        "CONFIG",
        `the code in ${place} is too large to be trusted: with its dependencies it has more than ${maxFiles} files or ${maxBytes / 1024 / 1024} MiB; install it with \`memslot plugins add\``,
      );
    const content = await readFile(path);
    hash.update(JSON.stringify(["file", shown, content.byteLength]));
    hash.update(content);
  }
}
