import { constants, type Dirent, lstatSync, readdirSync, realpathSync, type Stats, statSync } from "node:fs";
import path from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type ExtraPath, MemoryError, type MemoryRootStatus, messageOf, type SyncFailure } from "@memslot/core";
import picomatch from "picomatch";

/** Files over this many bytes are reported and not read. */
export const maxFileBytes: number = 16 * 1024 * 1024;

const filesPerTurn = 500;
const linkReason = "is a symbolic link, which is not followed";

const ignoredFolders = new Set(
  ".git .hg .svn node_modules .pnpm-store .venv venv .tox __pycache__ .obsidian .trash .cache .idea .vscode".split(" "),
);

export interface ScannedFile {
  /** Relative to the workspace, with `/`. */
  path: string;
  absolutePath: string;
  mtimeMs: number;
  size: number;
}

export interface ScanResult {
  files: ScannedFile[];
  /** Every place that was looked at, with the reason where it was passed over. */
  roots: MemoryRootStatus[];
  /** Single files and folders inside the roots that could not be taken. */
  failed: SyncFailure[];
  /** Path prefixes about which nothing is known this time, so that what is indexed below them has to stay. */
  unknown: string[];
}

export interface ScanOptions {
  /** Canonical absolute path. */
  workspaceDir: string;
  extraPaths: readonly (string | ExtraPath)[];
  signal: AbortSignal;
}

/** Where memory may stand: the workspace's own files, and what `extraPaths` adds. */
export interface MemoryRoot {
  absolutePath: string;
  kind: "file" | "folder";
  /** As it is shown: `MEMORY.md`, `memory`, or the extra path as written. */
  label: string;
  matches: (relativePath: string) => boolean;
  /** An extra path that is missing is worth a word; the usual places may be. */
  extra: boolean;
}

const everyFile = (): boolean => true;

function inIgnoredFolder(file: string): boolean {
  return file
    .split("/")
    .slice(0, -1)
    .some((folder) => ignoredFolders.has(folder));
}

/** The roots of a workspace, in the order in which they claim files. */
export function memoryRoots(workspaceDir: string, extraPaths: readonly (string | ExtraPath)[]): MemoryRoot[] {
  const own = (name: string, kind: MemoryRoot["kind"]): MemoryRoot => {
    return {
      absolutePath: path.join(workspaceDir, name),
      kind,
      label: name,
      matches: (file) => !inIgnoredFolder(file),
      extra: false,
    };
  };
  const extra = extraPaths.map((entry): MemoryRoot => {
    const { path: written, pattern } = typeof entry === "string" ? { path: entry, pattern: undefined } : entry;
    const fits = pattern ? picomatch(pattern) : everyFile;
    return {
      absolutePath: canonicalParent(path.resolve(workspaceDir, written)),
      kind: "folder",
      label: written,
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

/** Finds the memory files. Symbolic links are never followed; each file is taken once, however many roots lead to it. */
export async function scanMemory(options: ScanOptions): Promise<ScanResult> {
  const { workspaceDir, signal } = options;
  const result: ScanResult = { files: [], roots: [], failed: [], unknown: [] };
  const names = new Set(listWorkspace(workspaceDir));
  const seen = new Map<string, string>();
  const relative = (absolute: string): string => relativePath(workspaceDir, absolute);
  /** What several roots lead to is reported once. */
  const reported = new Set<string>();
  const once = (file: string, report: () => void): void => {
    if (!reported.has(file)) report();
    reported.add(file);
  };
  const fail = (file: string, reason: string): void =>
    once(file, () => void result.failed.push({ path: file, reason }));
  /** What is left out on purpose is no failure: a sync without failures has everything that it should have. */
  const passOver = (file: string, reason: string): void =>
    once(file, () => void result.roots.push({ path: file, state: "skipped", reason }));

  const take = (absolutePath: string, stats: Stats): boolean => {
    const file = relative(absolutePath);
    // Two names of one file: a hard link, or two spellings on a file system that ignores case.
    const identity = stats.ino === 0 ? absolutePath : `${stats.dev}:${stats.ino}`;
    const earlier = seen.get(identity);
    if (earlier !== undefined) {
      if (earlier !== file) passOver(file, `is the same file as ${earlier}, which is indexed`);
      return false;
    }
    if (stats.size > maxFileBytes) {
      const megabytes = (stats.size / 1024 / 1024).toFixed(0);
      fail(file, `is ${megabytes} MiB, more than ${maxFileBytes / 1024 / 1024} MiB: split it into smaller files`);
      return false;
    }
    seen.set(identity, file);
    result.files.push({ path: file, absolutePath, mtimeMs: stats.mtimeMs, size: stats.size });
    return true;
  };

  async function walk(folder: string, root: MemoryRoot): Promise<number> {
    signal.throwIfAborted();
    let entries: Dirent[];
    try {
      entries = readdirSync(folder, { withFileTypes: true });
    } catch (error) {
      if (folder !== root.absolutePath && codeOf(error) === "ENOENT") return 0;
      fail(relative(folder), `cannot be listed: ${messageOf(error)}`);
      result.unknown.push(`${relative(folder)}/`);
      return 0;
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    let count = 0;
    const files = entries.filter((entry) => !entry.isDirectory() && isMarkdown(entry.name));
    for (const [index, entry] of files.entries()) {
      // Synchronous calls cost a tenth of their asynchronous twins; the pauses keep the event loop free.
      if (index % filesPerTurn === filesPerTurn - 1) await nextTurn(undefined, { signal });
      const absolutePath = path.join(folder, entry.name);
      if (!root.matches(toSlashes(path.relative(root.absolutePath, absolutePath)))) continue;
      const stats = statOf(absolutePath);
      if (stats instanceof Error) {
        if (codeOf(stats) === "ENOENT") continue;
        fail(relative(absolutePath), messageOf(stats));
        result.unknown.push(relative(absolutePath));
      } else if (!stats.isFile()) {
        passOver(relative(absolutePath), kindOf(stats));
      } else if (take(absolutePath, stats)) count++;
    }
    for (const entry of entries) {
      const absolutePath = path.join(folder, entry.name);
      if (entry.isSymbolicLink() && !isMarkdown(entry.name) && leadsToFolder(absolutePath)) {
        passOver(relative(absolutePath), linkReason);
      }
      if (entry.isDirectory() && !ignoredFolders.has(entry.name)) count += await walk(absolutePath, root);
    }
    return count;
  }

  for (const root of memoryRoots(workspaceDir, options.extraPaths)) {
    if (!root.extra && !names.has(root.label)) {
      if (root.label === "memory.md") continue;
      result.roots.push({
        path: root.label,
        state: "skipped",
        reason: root.label === "MEMORY.md" && names.has("memory.md") ? "memory.md is used" : "does not exist",
      });
      continue;
    }
    if (root.label === "memory.md" && !root.extra && names.has("MEMORY.md")) {
      const reason = "MEMORY.md is used";
      const same = sameFile(path.join(workspaceDir, "MEMORY.md"), root.absolutePath);
      if (!same) result.roots.push({ path: root.label, state: "skipped", reason });
      continue;
    }
    const stats = statOf(root.absolutePath);
    const skip = (reason: string): void => void result.roots.push({ path: root.label, state: "skipped", reason });
    if (stats instanceof Error) {
      skip(codeOf(stats) === "ENOENT" ? "does not exist" : `cannot be read: ${messageOf(stats)}`);
      // What cannot be looked at now is no reason to forget what it held; what is gone is.
      if (codeOf(stats) !== "ENOENT")
        result.unknown.push(relative(root.absolutePath), `${relative(root.absolutePath)}/`);
      continue;
    }
    if (stats.isSymbolicLink()) skip(root.extra ? `${linkReason}: name the real path instead` : linkReason);
    else if (stats.isDirectory()) {
      if (root.kind === "file") skip("is a folder, not a file");
      else
        result.roots.push({
          path: root.label,
          state: "indexed",
          files: await walk(root.absolutePath, root),
        });
    } else if (!stats.isFile()) skip(kindOf(stats));
    else if (root.kind === "folder" && !root.extra) skip("is a file, not a folder");
    else if (!isMarkdown(root.absolutePath)) skip("is not a Markdown file (.md)");
    else
      result.roots.push({
        path: root.label,
        state: "indexed",
        files: take(root.absolutePath, stats) ? 1 : 0,
      });
  }
  return result;
}

/** A path as results show it: relative to the workspace, with `/`. */
export function relativePath(workspaceDir: string, absolutePath: string): string {
  return toSlashes(path.relative(workspaceDir, absolutePath));
}

export function isMarkdown(name: string): boolean {
  return name.toLowerCase().endsWith(".md");
}

/** Opening a path that turned into a link since it was looked at fails, where the platform can say so. */
export const openForReading: number = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

function listWorkspace(workspaceDir: string): string[] {
  try {
    return readdirSync(workspaceDir);
  } catch (error) {
    const message = `the workspace ${workspaceDir} cannot be read: ${messageOf(error)}. Check that the folder exists; \`memslot init\` makes one.`;
    throw new MemoryError("WORKSPACE", message, { cause: error });
  }
}

function statOf(absolutePath: string): Stats | Error {
  try {
    return lstatSync(absolutePath);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function sameFile(a: string, b: string): boolean {
  const [left, right] = [statOf(a), statOf(b)];
  return (
    !(left instanceof Error) &&
    !(right instanceof Error) &&
    left.ino !== 0 &&
    left.ino === right.ino &&
    left.dev === right.dev
  );
}

/** An extra path with the links among its parents resolved; its own last part is left as it is. */
function canonicalParent(absolutePath: string): string {
  try {
    return path.join(realpathSync(path.dirname(absolutePath)), path.basename(absolutePath));
  } catch {
    // A missing parent is reported with the root itself.
    return absolutePath;
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

function kindOf(stats: Stats): string {
  if (stats.isSymbolicLink()) return linkReason;
  if (stats.isFIFO()) return "is a named pipe, not a file";
  if (stats.isSocket()) return "is a socket, not a file";
  if (stats.isBlockDevice() || stats.isCharacterDevice()) return "is a device, not a file";
  return "is not a file";
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

function toSlashes(file: string): string {
  return path.sep === "/" ? file : file.replaceAll(path.sep, "/");
}
