import type { LeftOut, UnsearchedFiles } from "@memslot/core";
import { type ChosenLayout, notesLayout } from "@memslot/core/files";
import { notesRootLabel, type Workspace } from "../memory-roots.ts";

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
    import("../scan.ts"),
    import("../unsearched.ts"),
  ]);
  const { files, roots } = await scanMemory(workspace, signal);
  return {
    ...notesLayout(workspace.workspaceDir, workspace.settings.notes),
    files: files.length,
    leftOut: roots.find(({ path }) => path === notesRootLabel)?.leftOut ?? [],
    unsearched: await createUnsearchedCounter(workspace)(signal),
  };
}
