import { type Dirent, existsSync, lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import type { FoundFolder } from "@memslot/core";
import { homeDir, indexedBefore, resolveStateDir } from "@memslot/core/host";
import { isTooWide, notesMark } from "@memslot/core/files";
import { isMarkdown } from "@memslot/indexing/host";

const configName = "memslot.json5";
/** Entries that mark a folder of notes. */
const marks = ["MEMORY.md", "memory.md", notesMark, ".obsidian"];

/**
 * Finds the folder of notes around the current folder, as git finds a repository (MEMORY.md, memory/, `.obsidian`,
 * `.memslot-notes`, `memslot.json5`); without a default workspace also an indexed one or one of Markdown. Never the
 * home or state folder, a disk root, or a foreign parent. Throws nothing.
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

function isForeign(folder: string): boolean {
  const user = process.getuid?.();
  if (user === undefined || user === 0) return false;
  return statSync(folder, { throwIfNoEntry: false })?.uid !== user;
}

/** How deep to search a vault without top-level notes, and how many entries to read. */
const depth = 2;
const mostEntries = 2000;
/** Attachments of notes, ignored when deciding whether a folder contains notes. */
const shownByNotes = /\.(?:png|jpe?g|gif|webp|svg|heic|pdf|mp[34]|m4a|wav|webm|mov|canvas|base|excalidraw|csv|bib)$/iu;

function holdsMarkdown(folder: string): boolean {
  return entriesOf(folder).some((entry) => isNote(entry));
}

/** Whether half of the files two levels deep are Markdown. False with a repository, a package or foreign folders. */
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
    return []; // An unreadable folder counts as empty.
  }
}

export function resolvePath(text: string, cwd: string, env: NodeJS.ProcessEnv): string {
  return path.resolve(
    cwd,
    text.replace(/^~(?=$|[/\\])/u, () => homeDir(env)),
  );
}
