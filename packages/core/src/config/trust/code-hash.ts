import { type Hash, createHash } from "node:crypto";
import type { Dirent } from "node:fs";
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
  const amount = { place, files: 0, bytes: 0 };
  if (!(await stat(place)).isDirectory()) {
    await addFile(place, "", hash, amount);
    return { sha256: hash.digest("hex"), files: 1 };
  }
  const packages = [await realpath(place)];
  const seen = new Set(packages);
  for (const folder of packages) {
    await addFolder(folder, hash, amount);
    // Not those of its development, which nobody loads.
    const packageJson = await readJson(join(folder, "package.json")).catch(() => undefined);
    const lists = ["dependencies", "optionalDependencies", "peerDependencies"];
    for (const name of dependenciesIn(packageJson, lists).toSorted()) {
      const found = packageFolder(name, join(folder, "package.json"));
      hash.update(JSON.stringify(["depends on", name, found === undefined]));
      const real = found === undefined ? undefined : await realpath(found);
      if (real === undefined || seen.has(real)) continue;
      seen.add(real);
      packages.push(real);
    }
  }
  return { sha256: hash.digest("hex"), files: amount.files };
}

interface Amount {
  readonly place: string;
  files: number;
  bytes: number;
}

async function addFolder(root: string, hash: Hash, amount: Amount): Promise<void> {
  const seen = new Set([root]);
  await walk(root, "");

  async function walk(folder: string, inside: string): Promise<void> {
    const entries = await readdir(folder, { withFileTypes: true });
    for (const entry of entries.toSorted(byName)) {
      const { name } = entry;
      if (passedOver.has(name)) continue;
      const path = join(folder, name);
      const shown = `${inside}${name}`;
      // A link that leads nowhere loads nothing; that it is there counts all the same.
      const stats = await stat(path).catch(() => undefined);
      if (stats?.isFile() === true) await addFile(path, shown, hash, amount);
      else if (stats?.isDirectory() !== true) hash.update(JSON.stringify(["other", shown]));
      else {
        const real = await realpath(path);
        hash.update(JSON.stringify(["folder", shown, seen.has(real)]));
        if (!seen.has(real)) {
          seen.add(real);
          await walk(path, `${shown}/`);
        }
      }
    }
  }
}

function byName(left: Dirent, right: Dirent): number {
  return left.name < right.name ? -1 : 1;
}

async function addFile(path: string, shown: string, hash: Hash, amount: Amount): Promise<void> {
  amount.files += 1;
  amount.bytes += (await stat(path)).size;
  if (amount.files > maxFiles || amount.bytes > maxBytes)
    throw new MemoryError(
      "CONFIG",
      `the code in ${amount.place} cannot be vouched for: with what it depends on it is more than ${maxFiles} files or ${maxBytes / 1024 / 1024} MiB; install it with \`memslot plugins add\``,
    );
  const content = await readFile(path);
  hash.update(JSON.stringify(["file", shown, content.byteLength]));
  hash.update(content);
}
