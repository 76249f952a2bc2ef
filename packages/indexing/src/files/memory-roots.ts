import { realpathSync } from "node:fs";
import path from "node:path";
import { createGlob, type ExtraPath, MemoryError, type MemorySearchSettings, messageOf } from "@memslot/core";
import { notesLayout } from "@memslot/core/files";
import { letsThrough, type RulesInput } from "./folder/folder-rules.ts";
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
  /** Whether it takes a part of its files only. */
  hasPattern: boolean;
  /** Of the workspace as a folder of notes: what it leaves out. */
  rules?: RulesInput | undefined;
}

/** Whether the workspace itself is a folder of notes. Absent wherever only the agent's layout is meant. */
export interface NotesChoice extends Pick<MemorySearchSettings, "notes"> {
  stateDir?: string | undefined;
  /** For a caller that looks more than once. */
  known?: RulesInput["known"];
}

/** How the workspace is shown where it is a root itself. */
export const notesRootLabel = ".";

const everyFile = (): boolean => true;

/** The roots of a workspace, in the order in which they claim files. */
export function memoryRoots(
  workspaceDir: string,
  extraPaths: readonly (string | ExtraPath)[],
  choice?: NotesChoice,
): MemoryRoot[] {
  const own = (name: string, kind: MemoryRoot["kind"]): MemoryRoot => {
    const absolutePath = path.join(workspaceDir, name);
    return {
      absolutePath,
      kind,
      label: name,
      fits: everyFile,
      matches: (file) => !inIgnoredFolder(file),
      extra: false,
      hasPattern: false,
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
      hasPattern: pattern !== undefined,
    };
  });
  return [
    own("MEMORY.md", "file"),
    own("memory.md", "file"),
    own("USER.md", "file"),
    own("memory", "folder"),
    ...extra,
    // Last: what is named one by one is memory whatever a .gitignore says.
    ...(choice !== undefined && notesLayout(workspaceDir, choice.notes).layout === "all"
      ? [notesRoot(workspaceDir, choice)]
      : []),
  ];
}

function notesRoot(workspaceDir: string, { stateDir, known }: NotesChoice): MemoryRoot {
  const rules: RulesInput = { folder: workspaceDir, stateDir, known };
  return {
    absolutePath: workspaceDir,
    kind: "folder",
    label: notesRootLabel,
    fits: everyFile,
    matches: (file) => letsThrough(rules, file),
    extra: false,
    hasPattern: false,
    rules,
  };
}

/** A path as results show it: relative to the workspace, with `/`. */
export function relativePath(workspaceDir: string, absolutePath: string): string {
  return toSlashes(path.relative(workspaceDir, absolutePath));
}

export function toSlashes(file: string): string {
  return path.sep === "/" ? file : file.replaceAll(path.sep, "/");
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
