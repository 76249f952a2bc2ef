import { lstatSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { cloudStub } from "./confined-open.ts";

/** Memory files of a workspace. `agent`: MEMORY.md, USER.md, memory/, `extraPaths`. `all`: also all other Markdown. */
export type NotesLayout = "agent" | "all";

export interface ChosenLayout {
  layout: NotesLayout;
  why: string;
}

/** Marks a folder of notes, so that it stays one if agent files are created in it later. */
export const notesMark = ".memslot-notes";

const agentPlaces = ["MEMORY.md", "memory.md", "memory"];

/** Determines the layout of a workspace (absolute, canonical path) from its files. Never throws. */
export function notesLayout(workspaceDir: string, notes: "auto" | NotesLayout): ChosenLayout {
  if (notes !== "auto") return { layout: notes, why: `memorySearch.notes is "${notes}"` };
  if (isTooWide(workspaceDir))
    return { layout: "agent", why: "the home folder and the root of a disk are no folders of notes by themselves" };
  if (isThere(workspaceDir, notesMark)) return { layout: "all", why: `${notesMark} is there` };
  const place = agentPlaces.find((name) => isThere(workspaceDir, name));
  if (place === undefined) return { layout: "all", why: "neither MEMORY.md nor memory/ is there" };
  return { layout: "agent", why: `${place === "memory" ? "memory/" : place} is there` };
}

/** True for the home folder and for the root of a file system, which hold far more than notes. */
export function isTooWide(folder: string): boolean {
  return folder === path.parse(folder).root || homeFolders().includes(folder);
}

const homes = new Map<string, readonly string[]>();

function homeFolders(): readonly string[] {
  try {
    const home = homedir();
    if (!homes.has(home)) homes.set(home, [home, realpathSync.native(home)]);
    return homes.get(home) ?? [];
  } catch {
    return []; // A user without a home folder.
  }
}

function isThere(folder: string, name: string): boolean {
  const file = path.join(folder, name);
  try {
    return [file, cloudStub(file)].some((each) => lstatSync(each, { throwIfNoEntry: false }) !== undefined);
  } catch {
    return false; // Listing the folder reports why it cannot be read.
  }
}
