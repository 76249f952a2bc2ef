import type { LeftOut, UnsearchedFiles } from "@memslot/core";
import { type ChosenLayout, notesLayout } from "@memslot/core/files";
import { notesRootLabel, type NotesSettings } from "../memory-roots.ts";

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
export async function surveyNotes(input: {
  workspaceDir: string;
  settings: NotesSettings;
  stateDir: string;
  signal: AbortSignal;
}): Promise<NotesSurvey> {
  const { workspaceDir, settings, stateDir, signal } = input;
  // Loaded when it is asked for: most commands scan nothing.
  const [{ scanMemory }, { createUnsearchedCounter }] = await Promise.all([
    import("../scan.ts"),
    import("../unsearched.ts"),
  ]);
  const { extraPaths, exclude, notes } = settings;
  const { files, roots } = await scanMemory({ workspaceDir, extraPaths, exclude, notes: { notes, stateDir }, signal });
  return {
    ...notesLayout(workspaceDir, notes),
    files: files.length,
    leftOut: roots.find(({ path }) => path === notesRootLabel)?.leftOut ?? [],
    unsearched: await createUnsearchedCounter({ workspaceDir, settings, stateDir })(signal),
  };
}
