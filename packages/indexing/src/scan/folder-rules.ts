import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import path from "node:path";
import ignore from "ignore";
import type { LeftOut } from "@memslot/core";
import { entriesOf, stampOf } from "./file-state.ts";

// The thread that watches reads this too: nothing else of memslot is loaded for it.

export const maxDepth = 64;

/** What of a folder of notes is excluded because of its name, or because a `.gitignore` names it. */
export interface FolderRules {
  /** Lines of the `.gitignore` of this folder that are skipped. */
  readonly problems: readonly string[];
  /** Why an entry of the folder is excluded; undefined if it may be a note or hold some. */
  leavesOut(name: string, isFolder: boolean): LeftOut["reason"] | undefined;
  enter(name: string): FolderRules;
}

/** Where the rules of a folder of notes begin, and what no rule has to name. */
export interface RulesInput {
  /** Canonical absolute path of the folder of notes: a `.gitignore` above it counts for nothing. */
  folder: string;
  /** The state folder: what it holds is memslot's own, wherever it lies. */
  stateDir?: string | undefined;
  known?: KnownIgnoreFiles | undefined;
}

export function folderRules({ folder, stateDir, known }: RulesInput): FolderRules {
  return rulesOf(folder, []);

  /** `above`: rules of parent folders, nearest first, each with the path from there. */
  function rulesOf(own: string, above: readonly { rules: IgnoreFile["rules"]; way: string }[]): FolderRules {
    const file: IgnoreFile | undefined = readIgnoreFile(own, known);
    const lists = file === undefined ? above : [{ rules: file.rules, way: "" }, ...above];
    return {
      problems: file?.problems ?? [],
      leavesOut(name, isFolder) {
        if (name.startsWith(".")) return "hidden";
        if (isFolder && (ignoredFolders.has(name) || path.join(own, name) === stateDir)) return "tool";
        // As in git, the last matching line of the nearest list decides.
        for (const { rules, way } of lists) {
          const { ignored, unignored } = rules.test(`${way}${name}${isFolder ? "/" : ""}`);
          if (ignored) return "ignored";
          if (unignored) return undefined;
        }
        return undefined;
      },
      enter: (name) =>
        rulesOf(
          path.join(own, name),
          lists.map(({ rules, way }) => ({ rules, way: `${way}${name}/` })),
        ),
    };
  }
}

/** Whether the rules let a file through, by its path from the folder with `/`. False too where they cannot be read. */
export function letsThrough(input: RulesInput, file: string): boolean {
  const parts = file.split("/");
  let rules = unlessUnreadable(() => folderRules(input));
  for (const [index, part] of parts.entries()) {
    const isFolder = index < parts.length - 1;
    const own = rules;
    if (own === undefined || index > maxDepth || own.leavesOut(part, isFolder) !== undefined) return false;
    rules = isFolder ? unlessUnreadable(() => own.enter(part)) : own;
  }
  return true;
}

export function unlessUnreadable(read: () => FolderRules | undefined): FolderRules | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

const openForReading = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
/** Where there is none, or something else of that name: git does not follow a link either. */
const isNone: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "EMLINK", "EISDIR"]);
/** Larger files are not hand-written lists. */
const maxBytes = 256 * 1024;
/** The cost of a pattern grows exponentially with its stars. */
const maxStars = 4;
const maxStarsOfName = 3;

interface IgnoreFile {
  rules: { test(path: string): { ignored: boolean; unignored: boolean } };
  problems: readonly string[];
}

/** Cache of unchanged files: checking each path again would dominate a scan. */
type KnownIgnoreFiles = Map<string, { stamp: string; content: IgnoreFile }>;

/** Reads a `.gitignore`; undefined if missing or a link. Throws the reason if unreadable. */
function readIgnoreFile(folder: string, known?: KnownIgnoreFiles): IgnoreFile | undefined {
  const file = path.join(folder, ".gitignore");
  let descriptor: number;
  try {
    descriptor = openSync(file, openForReading);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (isNone.has(code)) return undefined;
    throw new Error(`its .gitignore cannot be read: ${message}`, { cause: error });
  }
  try {
    const stats = fstatSync(descriptor, { bigint: true });
    if (!stats.isFile()) return undefined;
    if (stats.size > maxBytes) throw new Error(`its .gitignore is larger than ${maxBytes / 1024} KiB: shorten it`);
    const stamp = stampOf(stats);
    const before = known?.get(file);
    if (before?.stamp === stamp) return before.content;
    const content = parseIgnoreFile(readFileSync(descriptor, "utf8"));
    known?.set(file, { stamp, content });
    return content;
  } finally {
    closeSync(descriptor);
  }
}

function parseIgnoreFile(text: string): IgnoreFile {
  const problems: string[] = [];
  const lines = text.split(/\r?\n/).filter((line, index) => {
    const stars = (part: string): number => part.match(/\*+/g)?.length ?? 0;
    const fits = stars(line) <= maxStars && line.split("/").every((part) => stars(part) <= maxStarsOfName);
    if (!fits && !line.startsWith("#"))
      problems.push(`line ${index + 1} has too many stars and is not used: write it as several lines`);
    return fits;
  });
  return { rules: ignore({ ignorecase: process.platform !== "linux" }).add(lines), problems };
}

export const ignoredFolders: ReadonlySet<string> = new Set(
  ".git .hg .svn node_modules .pnpm-store .venv venv .tox __pycache__ .obsidian .trash .cache .idea .vscode".split(" "),
);

export const markdownEndings: readonly string[] = [".md", ".markdown", ".mdx"];

export function isMarkdown(name: string): boolean {
  const lower = name.toLowerCase();
  return markdownEndings.some((ending) => lower.endsWith(ending));
}

/** A name as file systems compare it that leave case and the way accents are written out of account. */
export function foldedName(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

/** Folders with more names count as folders of notes. */
const mostNames = 20_000;

const agentFiles: ReadonlySet<string> = new Set(
  "agents.md bootstrap.md claude.md gemini.md heartbeat.md identity.md memory.md soul.md tools.md user.md".split(" "),
);

/** Whether a folder would be one of notes that a user keeps: there is Markdown in it that no rule excludes. */
export function holdsNotes(folder: string): boolean {
  let count = 0;
  for (const { folder: own, names, notes } of notesBelow({ folder })) {
    count += names;
    if (count > mostNames || notes.some((name) => own !== folder || !agentFiles.has(name.toLowerCase()))) return true;
  }
  return false;
}

/** The folders from one downwards: number of names, and notes that no rule excludes. */
export function* notesBelow(input: RulesInput): Generator<{ folder: string; names: number; notes: string[] }> {
  const folders = [{ folder: input.folder, enter: () => folderRules(input) }];
  for (let next = folders.shift(); next !== undefined; next = folders.shift()) {
    const { folder } = next;
    const rules = unlessUnreadable(next.enter);
    if (rules === undefined) continue;
    const entries = entriesOf(folder);
    const notes: string[] = [];
    for (const entry of entries) {
      const { name } = entry;
      const isFolder = entry.isDirectory();
      if (!isFolder && !(entry.isFile() && isMarkdown(name))) continue;
      if (rules.leavesOut(name, isFolder) !== undefined) continue;
      if (isFolder) folders.push({ folder: path.join(folder, name), enter: () => rules.enter(name) });
      else notes.push(name);
    }
    yield { folder, names: entries.length, notes };
  }
}
