import type { LeftOut, MemoryRootStatus, UnsearchedFiles } from "@memslot/core";
import { type ChosenLayout, notesLayout } from "@memslot/core/files";
import { agentLayout, memoryRoots, notesRootLabel, relativePath, toSlashes, type Workspace } from "./memory-roots.ts";
import path from "node:path";
import { notesBelow } from "./folder-rules.ts";
import { createTimeSlices } from "../time-slices.ts";

/** What an index of a workspace would be made from. */
export interface NotesSurvey extends ChosenLayout {
  files: number;
  /** Of a folder of notes: what is in it and is no note. */
  leftOut: readonly LeftOut[];
  /** Of the agent's layout: Markdown files beside it. */
  unsearched: UnsearchedFiles;
}

/** Looks at a workspace without an index. `workspaceDir` is absolute and canonical. Throws `WORKSPACE` and aborts. */
export async function surveyNotes(workspace: Workspace, signal: AbortSignal): Promise<NotesSurvey> {
  const { scanMemory } = await import("./scan.ts");
  const { files, roots } = await scanMemory(workspace, signal);
  return {
    ...notesLayout(workspace.workspaceDir, workspace.settings.notes),
    files: files.length,
    leftOut: roots.find(({ path }) => path === notesRootLabel)?.leftOut ?? [],
    unsearched: await createUnsearchedCounter(workspace)(signal),
  };
}

/** Resolves the path of a note, which may not exist. Throws `PATH_NOT_ALLOWED`. */
export async function noteFile(workspace: Workspace & { relPath: string }): Promise<string> {
  const { allowedPath } = await import("./read-memory-file.ts");
  return allowedPath(workspace.relPath, workspace);
}

const usualPlaces: ReadonlySet<string> = new Set("MEMORY.md memory.md USER.md memory sessions journal".split(" "));

/** Whether a skipped place needs no attention. */
export function isUsualGap({ path, reason = "" }: MemoryRootStatus): boolean {
  return usualPlaces.has(path) && /^does not exist$|^(?:MEMORY|memory)\.md is used$/.test(reason);
}

/** A count ends after this many names or milliseconds, and reports that there may be more. */
const mostNames = 20_000;
const mostMs = 300;
/** How long a count is reused. */
const keptMs = 30_000;
const namedFolders = 5;

/** Counts the Markdown files below a workspace that are no part of the memory, and would be as a folder of notes. */
export type UnsearchedCounter = (signal: AbortSignal) => Promise<UnsearchedFiles>;

/** Looks at names only: opens nothing, follows no link, and skips the folders of tools and hidden ones. */
export function createUnsearchedCounter(workspace: Workspace): UnsearchedCounter {
  const { workspaceDir, settings, stateDir } = workspace;
  let last: { atMs: number; files: UnsearchedFiles } | undefined;

  async function walk(signal: AbortSignal): Promise<UnsearchedFiles> {
    // All that is to be searched is: what a folder of notes leaves out is excluded on purpose.
    if (notesLayout(workspaceDir, settings.notes).layout === "all") return resultOf(new Map(), false);
    const roots = memoryRoots(agentLayout(workspace));
    const isTaken = (file: string): boolean =>
      roots.some(({ absolutePath, kind, matches }) => {
        if (file === absolutePath) return true;
        const folder = absolutePath.endsWith(path.sep) ? absolutePath : absolutePath + path.sep;
        return kind === "folder" && file.startsWith(folder) && matches(toSlashes(file.slice(folder.length)));
      });
    const slices = createTimeSlices(signal);
    const startedMs = performance.now();
    const counted = new Map<string, number>();
    let count = 0;
    for (const { folder, names, notes } of notesBelow({ folder: workspaceDir, stateDir })) {
      if (slices.isOver()) await slices.pause();
      if (count >= mostNames || performance.now() - startedMs > mostMs) return resultOf(counted, true);
      count += names;
      const unsearched = notes.filter((name) => !isTaken(path.join(folder, name))).length;
      const shown = relativePath(workspaceDir, folder).split("/")[0] ?? "";
      if (unsearched > 0) counted.set(shown, (counted.get(shown) ?? 0) + unsearched);
    }
    return resultOf(counted, false);
  }

  return async (signal) => {
    if (last === undefined || performance.now() - last.atMs > keptMs)
      last = { files: await walk(signal), atMs: performance.now() };
    return last.files;
  };
}

/** The folders with the most first; files that are in the workspace itself are in none. */
function resultOf(counted: ReadonlyMap<string, number>, more: boolean): UnsearchedFiles {
  const folders = [...counted].filter(([folder]) => folder !== "").toSorted((left, right) => right[1] - left[1]);
  return {
    files: [...counted.values()].reduce((sum, count) => sum + count, 0),
    more,
    folders: folders.slice(0, namedFolders).map(([folder]) => folder),
  };
}
