import type { LeftOut, UnsearchedFiles, MemoryRootStatus } from "@memslot/core";
import { type ChosenLayout, notesLayout } from "@memslot/core/files";
import { notesRootLabel, type Workspace } from "./memory-roots.ts";

/** What an index of a workspace would be made from. */
export interface NotesSurvey extends ChosenLayout {
  /** Markdown files that are memory. */
  files: number;
  /** Of a folder of notes: what lies in it and is no note. */
  leftOut: readonly LeftOut[];
  /** Of the agent's layout: Markdown files beside it. */
  unsearched: UnsearchedFiles;
}

/** Looks at a workspace without an index. `workspaceDir` is absolute and canonical. Throws `WORKSPACE` and aborts. */
export async function surveyNotes(workspace: Workspace, signal: AbortSignal): Promise<NotesSurvey> {
  // Loaded when it is asked for: most commands scan nothing.
  const [{ scanMemory }, { createUnsearchedCounter }] = await Promise.all([
    import("./scan.ts"),
    import("./unsearched.ts"),
  ]);
  const { files, roots } = await scanMemory(workspace, signal);
  return {
    ...notesLayout(workspace.workspaceDir, workspace.settings.notes),
    files: files.length,
    leftOut: roots.find(({ path }) => path === notesRootLabel)?.leftOut ?? [],
    unsearched: await createUnsearchedCounter(workspace)(signal),
  };
}

/**
 * The absolute path of a note that the memory reads, as it is spelled on the disk, by its path from the workspace. Throws `PATH_NOT_ALLOWED` with the
 * reason for what is no Markdown, lies outside of the memory, or behind a link. Whether there is a file is not asked.
 */
export async function noteFile(workspace: Workspace & { relPath: string }): Promise<string> {
  // Loaded when it is asked for: a host that writes no such note reads no rules of folders.
  const { allowedPath } = await import("./read-file.ts");
  return allowedPath(workspace.relPath, workspace);
}

/** Where memory may stand and need not. */
const usualPlaces: ReadonlySet<string> = new Set("MEMORY.md memory.md USER.md memory sessions journal".split(" "));

/** Whether a place is left out for a reason that is none to worry about: nobody has to make every place for memory. */
export function isUsualGap({ path, reason = "" }: MemoryRootStatus): boolean {
  return usualPlaces.has(path) && /^does not exist$|^(?:MEMORY|memory)\.md is used$/.test(reason);
}
