import { existsSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { type FoundFolder, homeDir, indexedBefore, resolveStateDir } from "@memslot/core";
import { isTooWide, notesMark } from "@memslot/core/files";
import { holdsFoldersOfNotes, holdsMarkdown } from "./looks-like-notes.ts";

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
