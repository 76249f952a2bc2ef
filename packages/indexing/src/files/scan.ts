import { type BigIntStats, type Dirent, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { type ExtraPath, MemoryError, type MemoryRootStatus, messageOf, type SyncFailure } from "@memslot/core";
import { codeOf } from "@memslot/core/files";
import { type FolderLook, plainLook } from "../fresh/folder-view.ts";
import { adviceForLink, kindOf, linkReason, statOf, outOfDescriptors } from "./file-kind.ts";
import { createStampTrust, FileStates } from "./file-stamp.ts";
import { type FolderRules, folderRules, maxDepth } from "./folder/folder-rules.ts";
import { createLeftOutCount, type LeftOutCount, notesIn } from "./folder/left-out.ts";
import { ignoredFolders } from "./ignored-folders.ts";
import { isMarkdown } from "./folder/markdown-name.ts";
import { type MemoryRoot, memoryRoots, type NotesChoice, notesRootLabel, relativePath } from "./memory-roots.ts";
import { foldedName } from "./folded-name.ts";
import { createKnownFiles, isSameFile } from "./same-file.ts";
import { createTimeSlices, type TimeSlices } from "../time-slices.ts";

/** Files over this many bytes are skipped with the reason. */
export const maxFileBytes: number = 16 * 1024 * 1024;

/** What a name holds that is no UTF-8: the path that is made of it leads nowhere. */
const noCharacter = "\ufffd";

const tooDeep = `is more than ${maxDepth} folders deep`;

export interface ScannedFile {
  /** Relative to the workspace, with `/`. */
  path: string;
  absolutePath: string;
  mtimeMs: number;
  size: number;
  /** What the file system tells of its state. Absent where that is not enough: then only its content shows a change. */
  stamp?: string | undefined;
}

export interface ScanResult {
  files: ScannedFile[];
  /** Every place that was looked at, and what was left out in it, each with the reason where it was passed over. */
  roots: MemoryRootStatus[];
  /** Single files and folders inside the roots that could not be taken. */
  failed: SyncFailure[];
  /** Path prefixes about which nothing is known this time, so that what is indexed below them has to stay. */
  unknown: string[];
  /** What was passed over inside of files that are taken, by path. Known when they have been read. */
  issues?: Map<string, string> | undefined;
}

export interface ScanOptions {
  /** Canonical absolute path. */
  workspaceDir: string;
  extraPaths: readonly (string | ExtraPath)[];
  signal: AbortSignal;
  /** Whether the workspace itself may be a folder of notes; absent: it is not. */
  notes?: NotesChoice | undefined;
  /** For a caller that scans more than once. */
  states?: FileStates | undefined;
  /** How the folders are asked what they hold; each time, where it is absent. */
  look?: FolderLook | undefined;
}

/** Finds the memory files. Symbolic links are never followed; each file is taken once, however many roots lead to it. */
export async function scanMemory(options: ScanOptions): Promise<ScanResult> {
  const { workspaceDir, signal } = options;
  signal.throwIfAborted();
  const listing = createListing(options.states ?? new FileStates());
  const { result } = listing;
  const slices = createTimeSlices(signal);
  const { look = plainLook } = options;
  const names = new Set(listWorkspace(workspaceDir));
  for (const root of memoryRoots(workspaceDir, options.extraPaths, options.notes)) {
    if (root.label === "memory.md" && !root.extra) {
      if (!names.has("memory.md")) continue;
      if (names.has("MEMORY.md")) {
        if (!isSameFile(path.join(workspaceDir, "MEMORY.md"), root.absolutePath)) skip("MEMORY.md is used");
        continue;
      }
    } else if (root.label === "MEMORY.md" && !root.extra && !names.has("MEMORY.md") && names.has("memory.md")) {
      skip("memory.md is used");
      continue;
    }
    // It is the file system that decides whether `Memory` is found under the name of `memory`.
    const stats = statOf(root.absolutePath);
    if (stats instanceof Error) {
      skip(codeOf(stats) === "ENOENT" ? "does not exist" : `cannot be read: ${messageOf(stats)}`);
      // What cannot be looked at now is no reason to forget what it held; what is gone is.
      const place = relativePath(workspaceDir, root.absolutePath);
      if (codeOf(stats) !== "ENOENT") {
        result.unknown.push(place, `${place}/`);
        listing.fail(place, `cannot be read: ${messageOf(stats)}`);
      }
    } else if (stats.isSymbolicLink()) skip(`${linkReason}: ${adviceForLink(root.absolutePath)}`);
    else if (stats.isDirectory()) {
      if (root.kind === "file") skip("is a folder, not a file");
      else await walked();
    } else if (!isReadable(stats)) skip(whyNotReadable(stats));
    else if (root.kind === "folder" && !root.extra) skip("is a file, not a folder");
    else if (!isMarkdown(root.absolutePath)) skip("is not a Markdown file (.md)");
    else found(listing.take(relativePath(workspaceDir, root.absolutePath), root.absolutePath, stats) ? 1 : 0);

    function skip(reason: string): void {
      result.roots.push({ path: root.label, state: "skipped", reason });
    }

    async function walked(): Promise<void> {
      const leftOut = root.rules === undefined ? undefined : createLeftOutCount();
      const files = await walkRoot(root, { listing, look, workspaceDir, slices, leftOut });
      result.roots.push({ path: root.label, state: "indexed", files, ...(leftOut && { leftOut: leftOut.counts() }) });
    }

    function found(files: number): void {
      result.roots.push({ path: root.label, state: "indexed", files });
    }
  }
  listing.judge();
  return result;
}

/** What has been found so far. */
interface Listing {
  result: ScanResult;
  /** False where it is left out, or is known under another name. */
  take(file: string, absolutePath: string, stats: BigIntStats): boolean;
  /** What several roots lead to is reported once. */
  fail(file: string, reason: string): void;
  passOver(file: string, reason: string): void;
  /** Takes their stamps from those files whose state they do not tell. Called when all were found. */
  judge(): void;
}

function createListing(states: FileStates): Listing {
  const result: ScanResult = { files: [], roots: [], failed: [], unknown: [] };
  const known = createKnownFiles<ScannedFile>();
  const reported = new Set<string>();
  const trust = createStampTrust();
  const seen: { scanned: ScannedFile; stats: BigIntStats }[] = [];
  const once = (file: string, report: () => void): void => {
    if (!reported.has(file)) report();
    reported.add(file);
  };
  const listing: Listing = {
    result,
    fail: (file, reason) => once(file, () => void result.failed.push({ path: file, reason })),
    // What is left out on purpose is no failure: a sync without failures has everything that it should have.
    passOver: (file, reason) => once(file, () => void result.roots.push({ path: file, state: "skipped", reason })),

    take(file, absolutePath, stats) {
      const { mtimeMs, stamp } = states.of(file, stats);
      const scanned: ScannedFile = { path: file, absolutePath, mtimeMs, size: Number(stats.size), stamp };
      const earlier = known.add(scanned, stats);
      if (earlier !== undefined) {
        // Another spelling of the same path is no news. A hard link is: who looks for it under this name finds it not.
        if (foldedName(earlier.path) !== foldedName(file))
          listing.passOver(file, `is the same file as ${earlier.path}, which is indexed`);
        return false;
      }
      result.files.push(scanned);
      trust.see(stats, absolutePath);
      seen.push({ scanned, stats });
      return true;
    },

    judge() {
      for (const { scanned, stats } of seen) if (!trust.relies(stats)) scanned.stamp = undefined;
      states.endLook();
    },
  };
  return listing;
}

/** What one walk needs beside its root. */
interface Walk {
  listing: Listing;
  look: FolderLook;
  workspaceDir: string;
  slices: TimeSlices;
  /** Of a folder of notes. */
  leftOut: LeftOutCount | undefined;
}

/** Takes what a folder holds, and all below it. Gives the number of files taken. */
async function walkRoot(root: MemoryRoot, { listing, look, workspaceDir, slices, leftOut }: Walk): Promise<number> {
  const { result, take, fail, passOver } = listing;
  let count = 0;

  /**
   * `inside` is the way from the root to the folder, `shown` from the workspace; each ends with `/` or is empty. `enter`
   * gives the rules of the folder.
   */
  async function walk(
    folder: string,
    inside: string,
    shown: string,
    enter: (() => FolderRules) | undefined,
  ): Promise<void> {
    if (slices.isOver()) await slices.pause();
    let entries: Dirent[];
    let rules: FolderRules | undefined;
    try {
      entries = look.list(folder);
      rules = enter?.();
    } catch (error) {
      const place = shown.slice(0, -1) || notesRootLabel;
      if (inside !== "" && codeOf(error) === "ENOENT") {
        if (inside.includes(noCharacter)) fail(place, "has a name that is not UTF-8: rename it");
        return;
      }
      fail(place, outOfDescriptors(error) ?? `cannot be listed: ${messageOf(error)}`);
      result.unknown.push(shown);
      return;
    }
    if (rules !== undefined && leftOut !== undefined) {
      for (const problem of rules.problems) passOver(`${shown}.gitignore`, problem);
      entries = notesIn(entries, rules, leftOut);
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    const base = folder.endsWith(path.sep) ? folder : folder + path.sep;
    // Files first, so that of two names the one nearer to the root is kept.
    for (const entry of entries) {
      const { name } = entry;
      if (entry.isDirectory() || !isMarkdown(name) || !root.fits(inside + name)) continue;
      if (slices.isOver()) await slices.pause();
      const stats = look.stat(base + name);
      if (stats instanceof Error) {
        if (codeOf(stats) === "ENOENT") {
          if (name.includes(noCharacter)) fail(shown + name, "has a name that is not UTF-8: rename it");
          continue;
        }
        fail(shown + name, messageOf(stats));
        result.unknown.push(shown + name);
      } else if (!isReadable(stats)) passOver(shown + name, whyNotReadable(stats));
      else if (take(shown + name, base + name, stats)) count++;
    }
    for (const entry of entries) {
      const { name } = entry;
      if (entry.isDirectory()) {
        if (rules !== undefined && inside.split("/").length > maxDepth) passOver(shown + name, tooDeep);
        else if (!ignoredFolders.has(name))
          await walk(base + name, `${inside}${name}/`, `${shown}${name}/`, rules && (() => rules.enter(name)));
      } else if (entry.isSymbolicLink() && !isMarkdown(name) && leadsToFolder(base + name))
        passOver(shown + name, linkReason);
    }
  }

  const place = relativePath(workspaceDir, root.absolutePath);
  const { rules } = root;
  await walk(root.absolutePath, "", place === "" ? "" : `${place}/`, rules && (() => folderRules(rules)));
  return count;
}

function isReadable(stats: BigIntStats): boolean {
  return stats.isFile() && stats.size <= maxFileBytes;
}

function whyNotReadable(stats: BigIntStats): string {
  if (!stats.isFile()) return kindOf(stats);
  const megabytes = (Number(stats.size) / 1024 / 1024).toFixed(0);
  return `is ${megabytes} MiB, more than ${maxFileBytes / 1024 / 1024} MiB: split it into smaller files`;
}

function listWorkspace(workspaceDir: string): string[] {
  try {
    return readdirSync(workspaceDir);
  } catch (error) {
    const advice = ["EMFILE", "ENFILE"].includes(codeOf(error) ?? "")
      ? "Too many files are open: close some, or raise the limit (`ulimit -n`)."
      : "Check that the folder exists; `memslot init` makes one.";
    const message = `the workspace ${workspaceDir} cannot be read: ${messageOf(error)}. ${advice}`;
    throw new MemoryError("WORKSPACE", message, { cause: error });
  }
}

function leadsToFolder(link: string): boolean {
  try {
    return statSync(link).isDirectory();
  } catch {
    // A link that leads nowhere is no folder.
    return false;
  }
}
