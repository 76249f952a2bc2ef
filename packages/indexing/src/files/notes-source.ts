import type { MemorySearchSettings, ExtraPath } from "@memslot/core";
import type { IndexedSource } from "../indexed-source.ts";
import { holdsContent, readChunks, recipeOf, skippedBecause, stampInNote } from "./read-chunks.ts";
import { scanMemory } from "./scan.ts";
import path from "node:path";
import { createHeldLines } from "../search/held-lines.ts";
import { FileStates } from "./file-stamp.ts";
import { isMarkdown } from "./folder/markdown-name.ts";
import { memoryRoots, type NotesChoice } from "./memory-roots.ts";
import { notesHold } from "./notes-hold.ts";
import { placeOf } from "./note-place.ts";

/** The Markdown files of a workspace and of `extraPaths`. */
export function createNotesSource(input: {
  /** Canonical absolute path. */
  workspaceDir: string;
  settings: Pick<MemorySearchSettings, "chunking" | "extraPaths" | "notes">;
  /** Not looked into, where it lies in a folder of notes. */
  stateDir?: string | undefined;
}): IndexedSource {
  const { workspaceDir, settings, stateDir } = input;
  const { extraPaths } = settings;
  const states = new FileStates();
  const notes: NotesChoice = { notes: settings.notes, stateDir, known: new Map() };
  return {
    source: "memory",
    recipe: recipeOf(settings.chunking),
    scan: async (signal, _, look) => await scanMemory({ workspaceDir, extraPaths, notes, signal, states, look }),
    stampOf: stampInNote,
    holdsContent,
    skippedBecause,
    holds: createNoteLines({ workspaceDir, extraPaths, notes }),
    read: async (file, stored, signal) => await readChunks(file, "memory", stored, settings.chunking, signal),
  };
}

/** Where a note is, for whom it is compared with the index. */
function createNoteLines(input: {
  workspaceDir: string;
  extraPaths: readonly (string | ExtraPath)[];
  notes: NotesChoice;
}): NonNullable<IndexedSource["holds"]> {
  const { workspaceDir, extraPaths, notes } = input;
  return createHeldLines({
    placeOf(relPath) {
      const wanted = path.resolve(workspaceDir, relPath);
      const place = isMarkdown(wanted) ? placeOf(wanted, memoryRoots(workspaceDir, extraPaths, notes)) : undefined;
      return place?.link === undefined ? place?.absolutePath : undefined;
    },
    compare: notesHold,
  });
}
