import { lstatSync } from "node:fs";
import path from "node:path";
import { type ExtraPath, type MemorySource } from "@memslot/core";
import { isMarkdown, memoryRoots, relativePath, toSlashes, type Workspace } from "@memslot/indexing";
import type { QmdPath } from "../settings/options.ts";
import { slug } from "../state-folder.ts";

/** A folder that qmd reads, under a name of ours. */
export interface Collection {
  name: string;
  source: MemorySource;
  /** Absolute, links resolved. */
  root: string;
  /** What is read in it, a glob. */
  pattern: string;
  /** The names of the files that are meant, where it is not all of the folder. */
  only?: readonly string[] | undefined;
  /** Files that are no memory, though they fit: globs. */
  ignore: readonly string[];
  /** Whether it holds what `extraPaths` adds; else it is the owner's own. */
  isExtra: boolean;
}

/** The pattern of a folder that is read whole. */
export const everyNote = "**/*.md";

const ownFiles = ["MEMORY.md", "memory.md", "USER.md"];

// qmd searches the names of collections too: a name that is a word would be found by it.
const ownName = "mslot";

/**
 * What qmd is to read: the notes of the workspace, the extra paths that are there, the exported transcripts. Links are
 * left out, as they are not followed here; two that read the same are one.
 */
export function collectionsOf(input: {
  workspace: Workspace;
  named: readonly QmdPath[];
  includeDefaultMemory: boolean;
  /** The folder of exported transcripts, where there are to be some. */
  sessionsFolder: string | undefined;
  /** Files that a look at the notes has passed over, by their paths from the workspace: they may be too large to read. */
  passedOver: readonly string[];
}): Collection[] {
  const { workspace, named, includeDefaultMemory, sessionsFolder } = input;
  const { workspaceDir, settings } = workspace;
  const { extraPaths, notes } = settings;
  const ignored = input.passedOver.filter(isMarkdown).map((shown) => path.resolve(workspaceDir, shown));
  const roots = memoryRoots({ ...workspace, settings: { extraPaths: [...extraPaths, ...named], notes } });
  const extra = roots.filter((root) => root.extra);
  const collections: Collection[] = [];
  const names = new Set<string>();
  const add = (name: string, collection: Omit<Collection, "name" | "ignore">): void => {
    const { root, pattern } = collection;
    const ignore = ignored.flatMap((file) => {
      const inside = path.relative(root, file);
      return isOutside(inside) ? [] : [toSlashes(inside).split("/").map(escaped).join("/")];
    });
    if (collections.some((other) => other.root === root && other.pattern === pattern)) return;
    let free = name;
    for (let number = 2; names.has(free); number++) free = `${name}-${number}`;
    names.add(free);
    collections.push({ name: free, ...collection, ignore });
  };
  if (includeDefaultMemory) {
    const own = { source: "memory", isExtra: false } as const;
    add(`${ownName}1`, { ...own, root: workspaceDir, only: ownFiles, pattern: "{MEMORY,memory,USER}.md" });
    const folder = path.join(workspaceDir, "memory");
    if (kindOf(folder) === "folder") add(`${ownName}2`, { ...own, root: folder, pattern: everyNote });
    // It reads what is left out too; what is no note of ours is dropped from its answers.
    if (roots.some(({ rules }) => rules !== undefined))
      add(`${ownName}0`, { ...own, root: workspaceDir, pattern: everyNote });
  }
  for (const [index, { absolutePath }] of extra.entries()) {
    const entry = [...extraPaths, ...named][index];
    const written = index < extraPaths.length ? undefined : named[index - extraPaths.length]?.name;
    const name = written === undefined ? `${ownName}${index + 3}` : slug(written);
    const shared = { source: "memory", isExtra: true } as const;
    const kind = kindOf(absolutePath);
    if (kind === "folder")
      add(name, { ...shared, root: absolutePath, pattern: patternOf(typeof entry === "string" ? undefined : entry) });
    if (kind === "file" && isMarkdown(absolutePath)) add(name, { ...shared, ...singleFile(absolutePath) });
  }
  if (sessionsFolder !== undefined)
    add(`${ownName}s`, { source: "sessions", root: sessionsFolder, pattern: everyNote, isExtra: false });
  return collections;
}

/** The path of a file that qmd found, as results show it; undefined for one that would lie outside of its collection. */
export function pathIn({ root }: Collection, inside: string, workspaceDir: string): string | undefined {
  const absolutePath = path.resolve(root, inside);
  if (path.isAbsolute(inside) || !absolutePath.startsWith(root.endsWith(path.sep) ? root : root + path.sep))
    return undefined;
  return relativePath(workspaceDir, absolutePath);
}

/** The collections that a file is read in by qmd; none for one that qmd passes over. */
export function collectionsWith(collections: readonly Collection[], absolutePath: string): Collection[] {
  return collections.filter(({ root, only }) => {
    const inside = path.relative(root, absolutePath);
    if (isOutside(inside) || (only !== undefined && !only.includes(inside))) return false;
    const parts = toSlashes(inside).split("/");
    return !parts.some(isPassedOver) && parts.at(-1)?.endsWith(".md") === true && !inside.includes("?");
  });
}

/** Of the way from a folder to a file. */
function isOutside(inside: string): boolean {
  return inside === "" || inside === ".." || inside.startsWith(`..${path.sep}`) || path.isAbsolute(inside);
}

const passedOver: ReadonlySet<string> = new Set(["node_modules", ".git", ".cache", "vendor", "dist", "build"]);

function isPassedOver(part: string): boolean {
  return part.startsWith(".") || passedOver.has(part);
}

function patternOf(entry: ExtraPath | undefined): string {
  const pattern = entry?.pattern;
  if (pattern === undefined) return everyNote;
  // Nothing but Markdown is memory, and qmd would read whatever fits.
  if (pattern.endsWith("**")) return `${pattern}/*.md`;
  return pattern.endsWith("*") ? `${pattern}.md` : pattern;
}

/** qmd cuts a pattern at each comma, escaped or not: a sign that means something stands for any one character. */
function singleFile(absolutePath: string): Pick<Collection, "root" | "pattern" | "only"> {
  const name = path.basename(absolutePath);
  return { root: path.dirname(absolutePath), pattern: name.replaceAll(special, "?"), only: [name] };
}

const special = /[\\*?{}()[\]!+@,]/g;

function escaped(name: string): string {
  return name.replaceAll(special, String.raw`\$&`);
}

function kindOf(absolutePath: string): "file" | "folder" | undefined {
  const stats = lstatSync(absolutePath, { throwIfNoEntry: false });
  if (stats?.isDirectory() === true) return "folder";
  return stats?.isFile() === true ? "file" : undefined;
}
