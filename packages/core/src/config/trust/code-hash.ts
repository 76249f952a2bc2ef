import { createHash } from "node:crypto";
import { readFile, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { MemoryError } from "../../contract/errors.ts";
import { dependenciesIn, packageFolder, readJson } from "../packages.ts";

/** What code there is in a place, in one number. */
export interface CodeHash {
  /** Hexadecimal. */
  readonly sha256: string;
  readonly files: number;
}

// More than this is not read again at every start.
const maxFiles = 20_000;
const maxBytes = 256 * 1024 * 1024;

/** Not code of the folder itself: what is installed there is found by its name, as Node finds it. */
const passedOver: ReadonlySet<string> = new Set(["node_modules", ".git"]);

/**
 * Hashes what would run: every file of a folder, links followed, and the same of each package that its package.json
 * depends on, and of those that they depend on, wherever Node finds them. Of a single file its content. Throws `CONFIG`
 * where that is too much, and the errors of the file system.
 */
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
    // Not those of its development, which nobody loads.
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
      // A link that leads nowhere loads nothing; that it is there counts all the same.
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
        `the code in ${place} cannot be vouched for: with what it depends on it is more than ${maxFiles} files or ${maxBytes / 1024 / 1024} MiB; install it with \`memslot plugins add\``,
      );
    const content = await readFile(path);
    hash.update(JSON.stringify(["file", shown, content.byteLength]));
    hash.update(content);
  }
}
