// The import graph of the repository, read from the text: relative paths and packages of the workspace, types too, and
// modules named by `new URL("./x.ts", import.meta.url)` (threads and child processes).
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

/** Paths known to git below `folder`, relative to the repository, that exist. */
export function listFiles(folder = ".") {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "-z", folder];
  const { status, stdout, stderr, error } = spawnSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 });
  if (status !== 0) throw new Error(`cannot list the files with git: ${error?.message ?? stderr}`);
  return stdout.split("\0").filter((file) => file !== "" && existsSync(path.join(root, file)));
}

export const isModule = (file) => /\.(?:ts|tsx|mts|mjs|js)$/u.test(file);
export const isTest = (file) => /(?:^|\/)tests?\/|\.test\.[a-z]+$/u.test(file);

/** Imported files by file. Both are paths relative to the repository. */
export function importGraph(files = listFiles()) {
  const known = new Set(files);
  const packages = files.filter((file) => path.basename(file) === "package.json").map(readPackage);
  return new Map(
    files.filter(isModule).map((file) => {
      const text = readFileSync(path.join(root, file), "utf8");
      const specifiers = [...text.matchAll(/(?:\bfrom|\bimport\(?|\bURL\(|\bresolve\()\s*["']([^"'\n]+)["']/gu)];
      const targets = specifiers.map(([, specifier]) => resolve(file, specifier, packages));
      if (isTest(file)) targets.push(...namedModules(file, text, packages));
      return [file, new Set(targets.filter((target) => known.has(target) && target !== file))];
    }),
  );
}

/** Modules that a test names in a text, to run them as programs: relative to itself, its package or the package's tests. */
function namedModules(file, text, packages) {
  const owner = packages.findLast(({ folder }) => file.startsWith(`${folder}/`))?.folder ?? ".";
  const folders = [path.posix.dirname(file), owner, `${owner}/test`, "."];
  const names = [...text.matchAll(/["'`]([\w./-]+\.(?:ts|mjs))["'`]/gu)].map(([, name]) => name);
  return names.flatMap((name) => folders.map((folder) => path.posix.join(folder, name)));
}

/** Folder, name and source entries of a package. */
function readPackage(file) {
  const { name, exports = {}, imports = {} } = JSON.parse(readFileSync(path.join(root, file), "utf8"));
  return { folder: path.dirname(file), name, entries: { ...exports, ...imports } };
}

function resolve(file, specifier, packages) {
  if (specifier.startsWith(".")) return path.posix.join(path.posix.dirname(file), specifier);
  const own = (each) =>
    specifier.startsWith("#")
      ? file.startsWith(`${each.folder}/`)
      : specifier === each.name || specifier.startsWith(`${each.name}/`);
  const owner = packages.findLast((each) => each.name && own(each));
  if (owner === undefined) return undefined;
  const key = specifier.startsWith("#") ? specifier : `.${specifier.slice(owner.name.length)}`;
  for (const [pattern, target] of Object.entries(owner.entries)) {
    const source = typeof target === "string" ? target : target["@memslot/source"];
    const [before, after] = pattern.split("*");
    const matches = after === undefined ? key === pattern : key.startsWith(before) && key.endsWith(after);
    if (!matches || source === undefined) continue;
    const part = after === undefined ? "" : key.slice(before.length, key.length - after.length);
    return path.posix.join(owner.folder, source.replace("*", part));
  }
  return undefined;
}

/** Groups of files that import each other in a circle, each with two files or more (Tarjan's algorithm). */
export function circles(graph) {
  const order = new Map();
  const low = new Map();
  const stack = [];
  const found = [];
  const visit = (node) => {
    order.set(node, order.size);
    low.set(node, order.get(node));
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) visit(next);
      if (stack.includes(next)) low.set(node, Math.min(low.get(node), low.get(next)));
    }
    if (low.get(node) !== order.get(node)) return;
    const group = stack.splice(stack.indexOf(node));
    if (group.length > 1) found.push(group);
  };
  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return found;
}
