import { realpathSync } from "node:fs";
import path from "node:path";
import { createGlob, type ExtraPath, MemoryError, messageOf } from "@memslot/core";
import { ignoredFolders } from "./ignored-folders.ts";

/** Where memory may stand: the workspace's own files, and what `extraPaths` adds. */
export interface MemoryRoot {
  absolutePath: string;
  kind: "file" | "folder";
  /** As it is shown: `MEMORY.md`, `memory`, or the extra path as written. */
  label: string;
  /** Whether a file below it, by its path from here with `/`, fits the pattern. */
  fits: (relativePath: string) => boolean;
  /** The same, and in no folder of a tool. */
  matches: (relativePath: string) => boolean;
  /** An extra path that is missing is worth a word; the usual places may be. */
  extra: boolean;
}

const everyFile = (): boolean => true;

/** The roots of a workspace, in the order in which they claim files. */
export function memoryRoots(workspaceDir: string, extraPaths: readonly (string | ExtraPath)[]): MemoryRoot[] {
  const own = (name: string, kind: MemoryRoot["kind"]): MemoryRoot => {
    const absolutePath = path.join(workspaceDir, name);
    return {
      absolutePath,
      kind,
      label: name,
      fits: everyFile,
      matches: (file) => !inIgnoredFolder(file),
      extra: false,
    };
  };
  const extra = extraPaths.map((entry): MemoryRoot => {
    const { path: written, pattern } = typeof entry === "string" ? { path: entry, pattern: undefined } : entry;
    const fits = pattern ? fitsPattern(pattern) : everyFile;
    return {
      absolutePath: canonicalParent(path.resolve(workspaceDir, written)),
      kind: "folder",
      label: written,
      fits,
      matches: (file) => !inIgnoredFolder(file) && fits(file),
      extra: true,
    };
  });
  return [
    own("MEMORY.md", "file"),
    own("memory.md", "file"),
    own("USER.md", "file"),
    own("memory", "folder"),
    ...extra,
  ];
}

/** A path as results show it: relative to the workspace, with `/`. */
export function relativePath(workspaceDir: string, absolutePath: string): string {
  return toSlashes(path.relative(workspaceDir, absolutePath));
}

export function toSlashes(file: string): string {
  return path.sep === "/" ? file : file.replaceAll(path.sep, "/");
}

export function isMarkdown(name: string): boolean {
  return name.toLowerCase().endsWith(".md");
}

function inIgnoredFolder(file: string): boolean {
  return file
    .split("/")
    .slice(0, -1)
    .some((folder) => ignoredFolders.has(folder));
}

/** The configuration has been checked; the options of a plugin may name patterns too. */
function fitsPattern(pattern: string): MemoryRoot["fits"] {
  try {
    const glob = createGlob(pattern);
    return (file) => glob.matches(file);
  } catch (error) {
    throw new MemoryError("CONFIG", `the pattern ${JSON.stringify(pattern.slice(0, 80))} ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** An extra path with the links among its parents resolved; its own last part is left as it is. */
function canonicalParent(absolutePath: string): string {
  try {
    // As the workspace is resolved: both must spell a drive or a share the same way.
    return path.join(realpathSync.native(path.dirname(absolutePath)), path.basename(absolutePath));
  } catch {
    // A missing parent is reported with the root itself.
    return absolutePath;
  }
}
