import { type BigIntStats, type Dirent, readdirSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import {
  type LeftOut,
  MemoryError,
  type MemoryRootStatus,
  messageOf,
  type Sentence,
  type SyncFailure,
} from "@memslot/core";
import { sentence } from "@memslot/core/host";
import { cloudStub, codeOf, listConfined } from "@memslot/core/files";
import { createTimeSlices, type TimeSlices } from "../time-slices.ts";
import {
  fileIn,
  type FileState,
  isSameFile,
  KnownFiles,
  kindOf,
  maxFileBytes,
  realPathOf,
  StampTrust,
  stateOf,
  statOf,
} from "./file-state.ts";
import {
  type FolderRules,
  foldedName,
  folderRules,
  holdsNotes,
  ignoredFolders,
  isMarkdown,
  maxDepth,
} from "./folder-rules.ts";
import { type MemoryRoot, memoryRoots, notesRootLabel, relativePath, type Workspace } from "./memory-roots.ts";
import { outOfDescriptors } from "./open-file.ts";

const noCharacter = "\ufffd";

export interface ScannedFile extends FileState {
  path: string;
  absolutePath: string;
}

export interface FolderLook {
  list(folder: string): Dirent[];
  stat(folder: string, name: string): BigIntStats | Error;
}

export const plainLook: FolderLook = { list: listConfined, stat: (folder, name) => statOf(fileIn(folder, name)) };

export interface ScanResult {
  files: ScannedFile[];
  /** Every place that was scanned, and what was excluded in it, each with the reason where it was skipped. */
  roots: MemoryRootStatus[];
  failed: SyncFailure[];
  /** Path prefixes with unknown state: their index entries stay. */
  unknown: string[];
  /** Notes, and folders of notes, that were skipped. What failed is not among them. */
  excluded: SyncFailure[];
  /** Notes and folders that `memorySearch.exclude` names. */
  accepted: Set<string>;
  /** What was skipped inside of files that are taken, by path. Known when they have been read. */
  issues: Map<string, string>;
  /** Changed files that are not due. Known when they have been compared with the index. */
  waiting: number;
}

export function emptyScan(): ScanResult {
  const issues = new Map<string, string>();
  return { files: [], roots: [], failed: [], unknown: [], excluded: [], accepted: new Set(), issues, waiting: 0 };
}

/** Finds the memory files. Links are not followed; each file is taken once. */
export async function scanMemory(
  workspace: Workspace,
  signal: AbortSignal,
  look: FolderLook = plainLook,
  known?: Parameters<typeof memoryRoots>[1],
): Promise<ScanResult> {
  signal.throwIfAborted();
  const scan = new Scan(workspace.workspaceDir, createTimeSlices(signal, { background: true }), look);
  const names = new Set(listWorkspace(workspace.workspaceDir));
  for (const root of memoryRoots(workspace, known)) await scan.addRoot(root, names);
  return scan.end();
}

class Scan {
  readonly #result = emptyScan();
  readonly #workspaceDir: string;
  readonly #slices: TimeSlices;
  readonly #look: FolderLook;
  readonly #known = new KnownFiles<ScannedFile>();
  readonly #trust = new StampTrust();
  /** What several roots lead to is reported once. */
  readonly #reported = new Set<string>();
  readonly #links = new Map<string, string>();

  constructor(workspaceDir: string, slices: TimeSlices, look: FolderLook) {
    this.#workspaceDir = workspaceDir;
    this.#slices = slices;
    this.#look = look;
  }

  /** `names`: the entries of the workspace. */
  async addRoot(root: MemoryRoot, names: ReadonlySet<string>): Promise<void> {
    const { roots, excluded, accepted, unknown } = this.#result;
    const { absolutePath, label, extra, kind } = root;
    const place = relativePath(this.#workspaceDir, absolutePath);
    /** `note`: it is one, or holds some, that a search would reach if it could. */
    const skip = (why: Sentence, what: "note" | "place" = "place"): void => {
      roots.push({ path: label, state: "skipped", ...why });
      if (what === "note") excluded.push({ path: place, ...why });
    };
    if (label === "memory.md" && !extra) {
      if (!names.has("memory.md")) return;
      if (names.has("MEMORY.md")) {
        if (!isSameFile(path.join(this.#workspaceDir, "MEMORY.md"), absolutePath))
          skip(sentence("file.used", { name: "MEMORY.md" }), "note");
        return;
      }
    } else if (label === "MEMORY.md" && !extra && !names.has("MEMORY.md") && names.has("memory.md"))
      return skip(sentence("file.used", { name: "memory.md" }));
    // It is the file system that decides whether `Memory` is found under the name of `memory`.
    const stats = statOf(absolutePath);
    const isMissing = stats instanceof Error && codeOf(stats) === "ENOENT";
    const isInCloud = isMissing && !(statOf(cloudStub(absolutePath)) instanceof Error);
    if ((!isMissing || isInCloud || extra) && root.excludes("")) accepted.add(place);
    else if (isMissing && !isInCloud) skip(sentence("file.missing"), extra ? "note" : "place");
    else if (isMissing) {
      unknown.push(place);
      skip(sentence("file.cloud"), "note");
    } else if (stats instanceof Error) {
      const why = sentence("file.unreadable", { error: messageOf(stats) });
      skip(why);
      unknown.push(place, `${place}/`);
      this.#fail(place, why);
    } else if (stats.isSymbolicLink()) skip(adviceForLink(absolutePath), "note");
    else if (stats.isDirectory()) {
      if (kind === "file") skip(sentence("file.folder"), "note");
      else roots.push(await this.#walkRoot(root, place));
    } else if (!isReadable(stats)) skip(whyNotReadable(stats), "note");
    else if (kind === "folder" && !extra) skip(sentence("file.notFolder"), "note");
    else if (!isMarkdown(absolutePath)) skip(sentence("file.notMarkdown"));
    else roots.push({ path: label, state: "indexed", files: this.#take(place, absolutePath, stats) ? 1 : 0 });
  }

  /** Everything that was found. Links and stamps are only judged when all files are known. */
  end(): ScanResult {
    const taken = this.#links.size === 0 ? [] : this.#result.files.map(({ absolutePath }) => absolutePath);
    for (const [file, link] of this.#links) {
      const target = realPathOf(link);
      const isSearched = taken.some((each) => each === target || each.startsWith(`${target}${path.sep}`));
      // Editors lock a note with a hidden link to nowhere.
      const isLock = target === undefined && path.basename(file).startsWith(".");
      if (isSearched || isLock || !(isMarkdown(file) || holdsNotes(link))) this.#skip(file, sentence("file.link"));
      else this.#exclude(file, sentence("file.link"));
    }
    this.#trust.judge();
    return this.#result;
  }

  #fail(file: string, why: Sentence): void {
    if (!this.#reported.has(file)) this.#result.failed.push({ path: file, ...why });
    this.#reported.add(file);
  }

  // Intended exclusions are not failures.
  #skip(file: string, why: Sentence): void {
    if (!this.#reported.has(file)) this.#result.roots.push({ path: file, state: "skipped", ...why });
    this.#reported.add(file);
  }

  #exclude(file: string, why: Sentence): void {
    if (!this.#reported.has(file)) this.#result.excluded.push({ path: file, ...why });
    this.#skip(file, why);
  }

  /** False for a file that is known under another name. */
  #take(file: string, absolutePath: string, stats: BigIntStats): boolean {
    const scanned: ScannedFile = { path: file, absolutePath, ...stateOf(stats) };
    const earlier = this.#known.add(scanned, stats);
    if (earlier !== undefined) {
      if (foldedName(earlier.path) !== foldedName(file))
        this.#skip(file, sentence("file.same", { path: earlier.path }));
      return false;
    }
    this.#result.files.push(scanned);
    this.#trust.see(scanned, stats, absolutePath);
    return true;
  }

  async #walkRoot(root: MemoryRoot, place: string): Promise<MemoryRootStatus> {
    const { rules } = root;
    const leftOut = leftOutReasons.map((reason) => ({ reason, files: 0, folders: 0 }));
    const enter = rules && ((): FolderRules => folderRules(rules));
    const files = await this.#walk(root, leftOut, root.absolutePath, "", place === "" ? "" : `${place}/`, enter);
    const counted = leftOut.filter((count) => count.files + count.folders > 0);
    return { path: root.label, state: "indexed", files, ...(rules && { leftOut: counted }) };
  }

  /** Takes the files of a folder recursively; returns their number. */
  async #walk(
    root: MemoryRoot,
    leftOut: readonly LeftOut[],
    folder: string,
    inside: string,
    shown: string,
    enter: (() => FolderRules) | undefined,
  ): Promise<number> {
    const { accepted, unknown } = this.#result;
    let count = 0;
    if (this.#slices.isOver()) await this.#slices.pause();
    let entries: Dirent[];
    let rules: FolderRules | undefined;
    try {
      entries = this.#look.list(folder);
      rules = enter?.();
    } catch (error) {
      const place = shown.slice(0, -1) || notesRootLabel;
      if (root.excludes(`${inside}note.md`)) accepted.add(place);
      else if (inside !== "" && codeOf(error) === "ENOENT") this.#failUnlessGone(inside, place);
      else {
        this.#fail(place, outOfDescriptors(error) ?? sentence("file.unlisted", { error: messageOf(error) }));
        unknown.push(shown);
      }
      return 0;
    }
    for (const { name } of entries) {
      const note = noteInCloud(name);
      if (note === undefined || !root.fits(inside + note) || entries.some((entry) => entry.name === note)) continue;
      if (root.excludes(inside + note)) accepted.add(shown + note);
      else {
        unknown.push(shown + note);
        this.#exclude(shown + note, sentence("file.cloud"));
      }
    }
    if (rules !== undefined) {
      for (const problem of rules.problems) this.#skip(`${shown}.gitignore`, { reason: problem });
      entries = notesIn(entries, rules, leftOut);
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    entries = entries.filter((entry) => {
      const { name } = entry;
      if (!root.excludes(inside + name)) return true;
      const isFolder = entry.isDirectory() || entry.isSymbolicLink();
      if (isMarkdown(name) || (isFolder && !ignoredFolders.has(name))) accepted.add(shown + name);
      return false;
    });
    for (const entry of entries) {
      const { name } = entry;
      if (entry.isDirectory() || !isMarkdown(name) || !root.fits(inside + name)) continue;
      if (this.#slices.isOver()) await this.#slices.pause();
      const stats = this.#look.stat(folder, name);
      if (stats instanceof Error) {
        if (codeOf(stats) === "ENOENT") {
          this.#failUnlessGone(name, shown + name);
          continue;
        }
        this.#fail(shown + name, { reason: messageOf(stats) });
        unknown.push(shown + name);
      } else if (stats.isSymbolicLink()) this.#links.set(shown + name, fileIn(folder, name));
      else if (!isReadable(stats)) this.#exclude(shown + name, whyNotReadable(stats));
      else if (this.#take(shown + name, fileIn(folder, name), stats)) count++;
    }
    for (const entry of entries) {
      const { name } = entry;
      const [below, shownBelow] = [`${inside}${name}/`, `${shown}${name}/`];
      if (entry.isDirectory()) {
        if (rules !== undefined && inside.split("/").length > maxDepth)
          this.#exclude(shown + name, sentence("file.deep", { count: maxDepth }));
        else if (!ignoredFolders.has(name))
          count += await this.#walk(
            root,
            leftOut,
            fileIn(folder, name),
            below,
            shownBelow,
            rules && (() => rules.enter(name)),
          );
      } else if (entry.isSymbolicLink() && !isMarkdown(name) && leadsToFolder(fileIn(folder, name)))
        this.#links.set(shown + name, fileIn(folder, name));
    }
    return count;
  }

  #failUnlessGone(name: string, shown: string): void {
    if (name.includes(noCharacter)) this.#fail(shown, sentence("file.name"));
  }
}

const leftOutReasons: readonly LeftOut["reason"][] = ["ignored", "hidden", "tool", "link", "other"];

function notesIn(entries: readonly Dirent[], rules: FolderRules, leftOut: readonly LeftOut[]): Dirent[] {
  return entries.filter((entry) => {
    const [isFolder, isLink] = [entry.isDirectory(), entry.isSymbolicLink()];
    const isOther = !isFolder && !isLink && !isMarkdown(entry.name);
    const reason = isOther ? "other" : rules.leavesOut(entry.name, isFolder);
    const counted = leftOut.find((count) => count.reason === (isLink ? (reason ?? "link") : reason));
    if (counted !== undefined) counted[isFolder ? "folders" : "files"]++;
    return reason === undefined;
  });
}

/** What to do about a link that is located where memory may be. */
function adviceForLink(link: string): Sentence {
  try {
    return sentence("file.linkTo", { path: realpathSync.native(link) });
  } catch (error) {
    return sentence("file.linkNowhere", { error: messageOf(error) });
  }
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

function whyNotReadable(stats: BigIntStats): Sentence {
  if (!stats.isFile()) return sentence(kindOf(stats));
  if (isDataless(stats)) return sentence("file.cloud");
  const size = (Number(stats.size) / 1024 / 1024).toFixed(1);
  return sentence("file.large", { size, limit: maxFileBytes / 1024 / 1024 });
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
    return false;
  }
}
