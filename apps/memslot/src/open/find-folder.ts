import { type Dirent, existsSync, lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { type FoundFolder, homeDir, indexedBefore, resolveStateDir } from "@memslot/core";
import { isTooWide, notesMark } from "@memslot/core/files";
import { isMarkdown } from "@memslot/indexing/host";

const configName = "memslot.json5";
/** What makes a folder one of notes, wherever below it a command is run. */
const marks = ["MEMORY.md", "memory.md", notesMark, ".obsidian"];

/**
 * The folder that a command is run in or below, as git finds its own: the nearest one with MEMORY.md, with a memory/ that
 * holds Markdown, with `.obsidian`, `.memslot-notes` or `memslot.json5`. As long as the usual workspace has not been made, also the
 * nearest that was indexed before; else the current folder where Markdown lies in it, or hardly anything else in its folders. Never the home folder, the state folder or the root of a disk, nor one above the
 * current folder that belongs to somebody else. Undefined where there is none. Looks at the disk, and throws nothing.
 */
export function findFolder({ cwd, env }: { cwd: string; env: NodeJS.ProcessEnv }): FoundFolder | undefined {
  const stateDir = resolveStateDir({ cwd, env });
  const hasUsual = existsSync(path.join(stateDir, "workspace"));
  const here = canonical(cwd);
  const never = new Set([canonical(stateDir), canonical(homeDir(env))]);
  const isPlain = (folder: string): boolean => !hasUsual && holdsMarkdown(folder);
  const wasIndexed = hasUsual ? () => false : indexedBefore(stateDir);
  for (let folder = here; !isTooWide(folder) && !never.has(folder); folder = path.dirname(folder)) {
    if (folder !== here && isForeign(folder)) return undefined;
    const isMarked = marks.some((name) => existsSync(path.join(folder, name)));
    if (isMarked || holdsMarkdown(path.join(folder, "memory")) || wasIndexed(folder))
      return { folder, isWorkspace: true };
    if (existsSync(path.join(folder, configName))) return { folder, isWorkspace: isPlain(folder) };
  }
  const isWide = isTooWide(here) || never.has(here);
  if (isWide || hasUsual) return undefined;
  const isOfNotes = holdsMarkdown(here) || (!isForeign(here) && holdsFoldersOfNotes(here));
  return isOfNotes ? { folder: here, isWorkspace: true } : undefined;
}

function canonical(folder: string): string {
  try {
    return realpathSync.native(folder);
  } catch {
    return path.resolve(folder);
  }
}

/** Whether somebody else owns a folder: what they put there is not for this user to walk into. */
function isForeign(folder: string): boolean {
  const user = process.getuid?.();
  if (user === undefined || user === 0) return false;
  return statSync(folder, { throwIfNoEntry: false })?.uid !== user;
}

/** So deep lie the notes of a vault whose top holds nothing but folders, and so many entries are looked at. */
const depth = 2;
const mostEntries = 2000;
/** What notes show: it says nothing of whether a folder is one of notes. */
const shownByNotes = /\.(?:png|jpe?g|gif|webp|svg|heic|pdf|mp[34]|m4a|wav|webm|mov|canvas|base|excalidraw|csv|bib)$/iu;

/** Whether a Markdown file lies in the folder itself. */
function holdsMarkdown(folder: string): boolean {
  return entriesOf(folder).some((entry) => isNote(entry));
}

/**
 * Whether the folders in a folder hold notes, and hardly anything else: at least half of the files in two levels are Markdown,
 * apart from what notes show. Never true above a repository, a package or somebody else's folder: then it is a place where
 * many things lie, as /tmp is.
 */
function holdsFoldersOfNotes(folder: string): boolean {
  const owner = ownerOf(folder);
  const seen = { notes: 0, others: 0, entries: 0 };
  return count(folder, depth) && seen.notes > 0 && seen.notes >= seen.others;

  function count(at: string, below: number): boolean {
    for (const entry of entriesOf(at)) {
      if ((seen.entries += 1) > mostEntries) return true;
      if (entry.name === ".git" || entry.name === "package.json") return false;
      if (entry.name.startsWith(".")) continue;
      if (entry.isFile()) {
        if (isNote(entry)) seen.notes += 1;
        else if (!shownByNotes.test(entry.name)) seen.others += 1;
      } else if (entry.isDirectory() && below > 0) {
        const inner = path.join(at, entry.name);
        if (ownerOf(inner) !== owner || !count(inner, below - 1)) return false;
      }
    }
    return true;
  }
}

function ownerOf(folder: string): number | undefined {
  return lstatSync(folder, { throwIfNoEntry: false })?.uid;
}

function isNote(entry: Dirent): boolean {
  return entry.isFile() && !entry.name.startsWith(".") && isMarkdown(entry.name);
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // What cannot be looked into holds no notes to find.
  }
}
