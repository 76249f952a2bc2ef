import { type BigIntStats, type Dirent, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { MemoryError, type MemoryRootStatus, messageOf, type SyncFailure } from "@memslot/core";
import { cloudStub, codeOf } from "@memslot/core/files";
import { type FolderLook, plainLook } from "../fresh/folder-view.ts";
import { adviceForLink, kindOf, linkReason, notDownloaded, statOf, outOfDescriptors } from "./file-kind.ts";
import { createStampTrust, FileStates } from "./file-stamp.ts";
import { type FolderRules, folderRules, maxDepth, type RulesInput } from "./folder/folder-rules.ts";
import { createLeftOutCount, type LeftOutCount, notesIn } from "./folder/left-out.ts";
import { holdsNotes } from "./folder/holds-notes.ts";
import { ignoredFolders } from "./ignored-folders.ts";
import { isMarkdown } from "./folder/markdown-name.ts";
import { type MemoryRoot, memoryRoots, notesRootLabel, relativePath, type Workspace } from "./memory-roots.ts";
import { foldedName } from "./folded-name.ts";
import { realPathOf } from "./quiet-look.ts";
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
  /** Notes, and folders of notes, that were passed over. What failed is not among them. */
  excluded?: SyncFailure[] | undefined;
  /** Notes and folders that `memorySearch.exclude` names. */
  accepted?: Set<string> | undefined;
  /** What was passed over inside of files that are taken, by path. Known when they have been read. */
  issues?: Map<string, string> | undefined;
}

/** What a caller that scans repeatedly keeps from one scan to the next. */
export interface ScanMemory {
  states: FileStates;
  ignoreFiles: RulesInput["known"];
}

/**
 * Finds the memory files. Symbolic links are never followed; each file is taken once, however many roots lead to it.
 * `look`: how the folders are listed.
 */
export async function scanMemory(
  workspace: Workspace,
  signal: AbortSignal,
  look: FolderLook = plainLook,
  known?: ScanMemory,
): Promise<ScanResult> {
  const { workspaceDir } = workspace;
  signal.throwIfAborted();
  const listing = createListing(known?.states ?? new FileStates());
  const { result } = listing;
  const slices = createTimeSlices(signal);
  const names = new Set(listWorkspace(workspaceDir));
  for (const root of memoryRoots(workspace, known?.ignoreFiles)) {
    const place = relativePath(workspaceDir, root.absolutePath);
    if (root.label === "memory.md" && !root.extra) {
      if (!names.has("memory.md")) continue;
      if (names.has("MEMORY.md")) {
        if (!isSameFile(path.join(workspaceDir, "MEMORY.md"), root.absolutePath)) skip("MEMORY.md is used", "note");
        continue;
      }
    } else if (root.label === "MEMORY.md" && !root.extra && !names.has("MEMORY.md") && names.has("memory.md")) {
      skip("memory.md is used");
      continue;
    }
    // It is the file system that decides whether `Memory` is found under the name of `memory`.
    const stats = statOf(root.absolutePath);
    const isMissing = stats instanceof Error && codeOf(stats) === "ENOENT";
    const isInCloud = isMissing && !(statOf(cloudStub(root.absolutePath)) instanceof Error);
    if ((!isMissing || isInCloud || root.extra) && root.excludes("")) result.accepted.add(place);
    else if (isMissing && !isInCloud) skip("does not exist", root.extra ? "note" : "place");
    else if (isMissing) {
      result.unknown.push(place);
      skip(notDownloaded, "note");
    } else if (stats instanceof Error) {
      skip(`cannot be read: ${messageOf(stats)}`);
      // What cannot be looked at now is no reason to forget what it held; what is gone is.
      result.unknown.push(place, `${place}/`);
      listing.fail(place, `cannot be read: ${messageOf(stats)}`);
    } else if (stats.isSymbolicLink()) skip(`${linkReason}: ${adviceForLink(root.absolutePath)}`, "note");
    else if (stats.isDirectory()) {
      if (root.kind === "file") skip("is a folder, not a file", "note");
      else await walked();
    } else if (!isReadable(stats)) skip(whyNotReadable(stats), "note");
    else if (root.kind === "folder" && !root.extra) skip("is a file, not a folder", "note");
    else if (!isMarkdown(root.absolutePath)) skip("is not a Markdown file (.md)");
    else
      result.roots.push({
        path: root.label,
        state: "indexed",
        files: listing.take(place, root.absolutePath, stats) ? 1 : 0,
      });

    /** `note`: it is one, or holds some, that a search would reach if it could. */
    function skip(reason: string, what: "note" | "place" = "place"): void {
      result.roots.push({ path: root.label, state: "skipped", reason });
      if (what === "note") result.excluded.push({ path: place, reason });
    }

    async function walked(): Promise<void> {
      const leftOut = root.rules === undefined ? undefined : createLeftOutCount();
      const files = await walkRoot(root, { listing, look, workspaceDir, slices, leftOut });
      result.roots.push({ path: root.label, state: "indexed", files, ...(leftOut && { leftOut: leftOut.counts() }) });
    }
  }
  listing.judge();
  return result;
}

/** What has been found so far. */
type Listing = ReturnType<typeof createListing>;

function createListing(states: FileStates) {
  const result: ScanResult & { excluded: SyncFailure[]; accepted: Set<string> } = {
    files: [],
    roots: [],
    failed: [],
    unknown: [],
    excluded: [],
    accepted: new Set(),
  };
  const known = createKnownFiles<ScannedFile>();
  const reported = new Set<string>();
  const trust = createStampTrust();
  const seen: { scanned: ScannedFile; stats: BigIntStats }[] = [];
  const links = new Map<string, string>();
  /** What several roots lead to is reported once. */
  const once = (file: string, report: () => void): void => {
    if (!reported.has(file)) report();
    reported.add(file);
  };
  const listing = {
    result,
    fail: (file: string, reason: string): void => once(file, () => void result.failed.push({ path: file, reason })),
    // What is left out on purpose is no failure: a sync without failures has everything that it should have.
    passOver: (file: string, reason: string): void =>
      once(file, () => void result.roots.push({ path: file, state: "skipped", reason })),

    /** Passes over a note, or a folder that holds some. */
    exclude(file: string, reason: string): void {
      if (!reported.has(file)) result.excluded.push({ path: file, reason });
      listing.passOver(file, reason);
    },

    /** A link is passed over in the end, unless it leads to what is searched under its own name. */
    excludeLink: (file: string, absolutePath: string): void => void links.set(file, absolutePath),

    /** False where it is left out, or is known under another name. */
    take(file: string, absolutePath: string, stats: BigIntStats): boolean {
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

    /** Takes their stamps from those files whose state they do not tell. Called when all were found. */
    judge(): void {
      const taken = links.size === 0 ? [] : result.files.map(({ absolutePath }) => absolutePath);
      for (const [file, link] of links) {
        const target = realPathOf(link);
        const isSearched = taken.some((each) => each === target || each.startsWith(`${target}${path.sep}`));
        // Editors lock a note with a hidden link to nowhere.
        const isLock = target === undefined && path.basename(file).startsWith(".");
        if (isSearched || isLock || !(isMarkdown(file) || holdsNotes(link))) listing.passOver(file, linkReason);
        else listing.exclude(file, linkReason);
      }
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
  const { result, take, fail, passOver, exclude, excludeLink } = listing;
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
      // Whatever it holds is excluded.
      if (root.excludes(`${inside}note.md`)) {
        result.accepted.add(place);
        return;
      }
      if (inside !== "" && codeOf(error) === "ENOENT") {
        if (inside.includes(noCharacter)) fail(place, "has a name that is not UTF-8: rename it");
        return;
      }
      fail(place, outOfDescriptors(error) ?? `cannot be listed: ${messageOf(error)}`);
      result.unknown.push(shown);
      return;
    }
    for (const { name } of entries) {
      const note = noteInCloud(name);
      if (note === undefined || !root.fits(inside + note) || entries.some((entry) => entry.name === note)) continue;
      if (root.excludes(inside + note)) result.accepted.add(shown + note);
      else {
        result.unknown.push(shown + note);
        exclude(shown + note, notDownloaded);
      }
    }
    if (rules !== undefined && leftOut !== undefined) {
      for (const problem of rules.problems) passOver(`${shown}.gitignore`, problem);
      entries = notesIn(entries, rules, leftOut);
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    entries = entries.filter((entry) => {
      const { name } = entry;
      if (!root.excludes(inside + name)) return true;
      const isFolder = entry.isDirectory() || entry.isSymbolicLink();
      if (isMarkdown(name) || (isFolder && !ignoredFolders.has(name))) result.accepted.add(shown + name);
      return false;
    });
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
      } else if (stats.isSymbolicLink()) excludeLink(shown + name, base + name);
      else if (!isReadable(stats)) exclude(shown + name, whyNotReadable(stats));
      else if (take(shown + name, base + name, stats)) count++;
    }
    for (const entry of entries) {
      const { name } = entry;
      if (entry.isDirectory()) {
        if (rules !== undefined && inside.split("/").length > maxDepth) exclude(shown + name, tooDeep);
        else if (!ignoredFolders.has(name))
          await walk(base + name, `${inside}${name}/`, `${shown}${name}/`, rules && (() => rules.enter(name)));
      } else if (entry.isSymbolicLink() && !isMarkdown(name) && leadsToFolder(base + name))
        excludeLink(shown + name, base + name);
    }
  }

  const place = relativePath(workspaceDir, root.absolutePath);
  const { rules } = root;
  await walk(root.absolutePath, "", place === "" ? "" : `${place}/`, rules && (() => folderRules(rules)));
  return count;
}

function isReadable(stats: BigIntStats): boolean {
  return stats.isFile() && stats.size <= maxFileBytes && !isDataless(stats);
}

/** macOS keeps the name and the size of a file of a cloud, and fetches what it holds when it is opened. */
function isDataless(stats: BigIntStats): boolean {
  return process.platform === "darwin" && stats.size > 0n && stats.blocks === 0n;
}

/** The path of the note that an iCloud stub replaces. */
function noteInCloud(name: string): string | undefined {
  const note = /^\.(.+)\.icloud$/u.exec(name)?.[1];
  return note !== undefined && isMarkdown(note) ? note : undefined;
}

function whyNotReadable(stats: BigIntStats): string {
  if (!stats.isFile()) return kindOf(stats);
  if (isDataless(stats)) return notDownloaded;
  const megabytes = (Number(stats.size) / 1024 / 1024).toFixed(1);
  return `is ${megabytes} MiB; the limit is ${maxFileBytes / 1024 / 1024} MiB: split it into smaller files`;
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
