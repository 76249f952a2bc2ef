import { lstatSync } from "node:fs";
import path from "node:path";
import { type ExtraPath, type MemorySource } from "@memslot/core";
import { isMarkdown, memoryRoots, relativePath, toSlashes, type Workspace } from "@memslot/indexing/engine";
import type { QmdOptions } from "../options.ts";
import { slug } from "../state-folder.ts";

export interface Collection {
  name: string;
  source: MemorySource;
  root: string;
  pattern: string;
  only?: readonly string[] | undefined;
  ignore: readonly string[];
  /** From `extraPaths`; else it is private to the owner. */
  isExtra: boolean;
}

export const everyNote = "**/*.md";

const ownFiles = ["MEMORY.md", "memory.md", "USER.md"];

// qmd searches the names of collections too, so a name must not be a word.
const ownName = "mslot";

/** The collections of qmd: notes, extra paths and exported transcripts, without links and duplicates. */
export function collectionsOf(input: {
  workspace: Workspace;
  named: QmdOptions["paths"];
  includeDefaultMemory: boolean;
  sessionsFolder: string | undefined;
  /** Paths of files that the scan skipped, relative to the workspace: they may be too large to read. */
  skipped: readonly string[];
}): Collection[] {
  const { workspace, named, includeDefaultMemory, sessionsFolder } = input;
  const { workspaceDir, settings } = workspace;
  const { extraPaths, notes } = settings;
  const ignored = input.skipped.filter(isMarkdown).map((shown) => path.resolve(workspaceDir, shown));
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
    // qmd reads ignored files too; they are dropped from its answers.
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

/** The path of a file of qmd as results show it; undefined for a file outside of its collection. */
export function pathIn({ root }: Collection, inside: string, workspaceDir: string): string | undefined {
  const absolutePath = path.resolve(root, inside);
  if (path.isAbsolute(inside) || !absolutePath.startsWith(root.endsWith(path.sep) ? root : root + path.sep))
    return undefined;
  return relativePath(workspaceDir, absolutePath);
}

/** The collections in which qmd reads a file; none for a file that qmd excludes. */
export function collectionsWith(collections: readonly Collection[], absolutePath: string): Collection[] {
  return collections.filter(({ root, only }) => {
    const inside = path.relative(root, absolutePath);
    if (isOutside(inside) || (only !== undefined && !only.includes(inside))) return false;
    const parts = toSlashes(inside).split("/");
    return !parts.some(isExcluded) && parts.at(-1)?.endsWith(".md") === true && !inside.includes("?");
  });
}

function isOutside(inside: string): boolean {
  return inside === "" || inside === ".." || inside.startsWith(`..${path.sep}`) || path.isAbsolute(inside);
}

const excludedFolders: ReadonlySet<string> = new Set(["node_modules", ".git", ".cache", "vendor", "dist", "build"]);

function isExcluded(part: string): boolean {
  return part.startsWith(".") || excludedFolders.has(part);
}

function patternOf(entry: ExtraPath | undefined): string {
  const pattern = entry?.pattern;
  if (pattern === undefined) return everyNote;
  // Only Markdown is memory, and qmd would read every match.
  if (pattern.endsWith("**")) return `${pattern}/*.md`;
  return pattern.endsWith("*") ? `${pattern}.md` : pattern;
}

/** qmd splits a pattern at each comma, also an escaped one, so `?` replaces each special character. */
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
