import { realpathSync, readdirSync } from "node:fs";
import path from "node:path";
import { MemoryError, type MemorySearchSettings, messageOf } from "@memslot/core";
import { createGlob } from "@memslot/core/host";
import { notesLayout, codeOf } from "@memslot/core/files";
import { letsThrough, type RulesInput, isMarkdown, ignoredFolders } from "./folder-rules.ts";
import { statOf } from "./file-state.ts";

/** Where memory may stand: the workspace's own files, and what `extraPaths` adds. */
export interface MemoryRoot {
  absolutePath: string;
  kind: "file" | "folder";
  /** As it is shown: `MEMORY.md`, `memory`, or the extra path as written. */
  label: string;
  /** Whether a file below it, by its path from here with `/`, fits the pattern. */
  fits: (relativePath: string) => boolean;
  /** Whether `memorySearch.exclude` names a file or folder below it; `""` is the root itself. */
  excludes: (relativePath: string) => boolean;
  /** Whether it fits, is not excluded and in no folder of a tool. */
  matches: (relativePath: string) => boolean;
  /** From `extraPaths`: reported if missing. */
  extra: boolean;
  /** Whether it takes a part of its files only. */
  hasPattern: boolean;
  rules?: RulesInput | undefined;
}

export const notesRootLabel = ".";

const everyFile = (): boolean => true;

/** A workspace and what says which of its files are notes, such as the context of a plugin. */
export interface Workspace {
  workspaceDir: string;
  settings: Pick<MemorySearchSettings, "extraPaths" | "notes"> & Partial<Pick<MemorySearchSettings, "exclude">>;
  /** Excluded if it is within a folder of notes. */
  stateDir?: string | undefined;
}

/** The workspace without the notes that only a folder of notes has. */
export function agentLayout<Given extends Workspace>(workspace: Given): Given {
  return { ...workspace, settings: { ...workspace.settings, notes: "agent" } };
}

/** The roots of a workspace, in the order in which they claim files. `known`: for a caller that scans repeatedly. */
export function memoryRoots(
  { workspaceDir, settings, stateDir }: Workspace,
  known?: RulesInput["known"],
): MemoryRoot[] {
  const { extraPaths, notes, exclude = [] } = settings;
  const globs = exclude.map(excludeOf);
  const rootAt = (given: Pick<MemoryRoot, "absolutePath" | "kind" | "label"> & Partial<MemoryRoot>): MemoryRoot => {
    const { fits = everyFile, matches = (file) => !inIgnoredFolder(file) && fits(file) } = given;
    const excludes = (file: string): boolean =>
      globs.some((glob) => glob([relativePath(workspaceDir, path.join(given.absolutePath, file)), file]));
    return {
      extra: false,
      hasPattern: false,
      ...given,
      fits,
      excludes,
      matches: (file) => matches(file) && !excludes(file),
    };
  };
  const own = (name: string, kind: MemoryRoot["kind"]): MemoryRoot =>
    rootAt({ absolutePath: path.join(workspaceDir, name), kind, label: name });
  const extra = extraPaths.map((entry): MemoryRoot => {
    const { path: written, pattern } = typeof entry === "string" ? { path: entry, pattern: undefined } : entry;
    return rootAt({
      absolutePath: canonicalParent(path.resolve(workspaceDir, written)),
      kind: "folder",
      label: written,
      fits: pattern ? fitsPattern(pattern) : everyFile,
      extra: true,
      hasPattern: pattern !== undefined,
    });
  });
  const files = ["MEMORY.md", "memory.md", "USER.md"].map((name) => own(name, "file"));
  const all = [...files, own("memory", "folder"), ...extra];
  if (notesLayout(workspaceDir, notes).layout !== "all") return all;
  const rules: RulesInput = { folder: workspaceDir, stateDir, known };
  const matches = (file: string): boolean => letsThrough(rules, file);
  // Last: what is named one by one is memory whatever a .gitignore says.
  return [...all, rootAt({ absolutePath: workspaceDir, kind: "folder", label: notesRootLabel, rules, matches })];
}

/** Whether an exclude glob matches a file or a parent folder. Without `/` it matches any name. */
function excludeOf(glob: string): (paths: readonly string[]) => boolean {
  const written = glob.replace(/^\.?\/|\/$/gu, "");
  const fits = fitsPattern(written);
  if (written.startsWith("!")) return (paths) => paths.every((file) => isMarkdown(file) && fits(file));
  return (paths) =>
    paths.some((file) => {
      const parts = file.split("/");
      return parts.some((part, index) => fits(written.includes("/") ? parts.slice(0, index + 1).join("/") : part));
    });
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
    return path.join(realpathSync.native(path.dirname(absolutePath)), path.basename(absolutePath));
  } catch {
    // A missing parent is reported with the root itself.
    return absolutePath;
  }
}

/** Where a note is, or would be. */
export interface NotePlace {
  absolutePath: string;
  /** The first link on the way, where there is one. */
  link?: string | undefined;
}

/** Finds a path in the roots, also in other Unicode normal forms; undefined if none contains it. */
export function placeOf(wanted: string, roots: readonly MemoryRoot[]): NotePlace | undefined {
  for (const spelled of [(name: string) => name, (name: string) => name.normalize("NFC")]) {
    for (const root of roots) {
      const inside = partsInside(spelled(root.absolutePath), spelled(wanted));
      if (inside === undefined || (inside === 0 ? root.kind !== "file" && !root.extra : root.kind === "file")) continue;
      const place = placeInside(root.absolutePath, inside === 0 ? [] : wanted.split(path.sep).slice(-inside));
      if (
        inside === 0
          ? !root.excludes("")
          : root.matches(toSlashes(path.relative(root.absolutePath, place.absolutePath)))
      )
        return place;
    }
  }
  return undefined;
}

/** How many parts of a path lie below a folder; undefined if it is not in it. */
function partsInside(folder: string, wanted: string): number | undefined {
  if (wanted === folder) return 0;
  const inside = path.relative(folder, wanted);
  const parts = inside.split(path.sep);
  return parts[0] === ".." || path.isAbsolute(inside) ? undefined : parts.length;
}

function placeInside(root: string, parts: readonly string[]): NotePlace {
  let current = root;
  for (const [index, part] of ["", ...parts].entries()) {
    let next = path.join(current, part);
    let stats = statOf(next);
    if (stats instanceof Error && codeOf(stats) === "ENOENT") {
      next = path.join(current, otherSpelling(current, part) ?? part);
      stats = statOf(next);
    }
    // A missing part is an answer: the read returns `not_found`.
    if (stats instanceof Error) return { absolutePath: path.join(next, ...parts.slice(index)) };
    current = next;
    if (stats.isSymbolicLink()) return { absolutePath: path.join(current, ...parts.slice(index)), link: current };
  }
  return { absolutePath: current };
}

function otherSpelling(folder: string, name: string): string | undefined {
  // Names in ASCII have one spelling.
  if (!/[^\p{ASCII}]/u.test(name)) return undefined;
  const composed = name.normalize("NFC");
  try {
    const names = readdirSync(folder).filter((other) => other.normalize("NFC") === composed);
    return names.sort()[0];
  } catch {
    return undefined;
  }
}
