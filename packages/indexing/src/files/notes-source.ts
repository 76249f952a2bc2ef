import type { MemorySearchSettings } from "@memslot/core";
import type { IndexedSource } from "../indexed-source.ts";
import { holdsContent, notesHold, readChunks, recipeOf, skippedBecause, stampInNote } from "./read-chunks.ts";
import { scanMemory } from "./scan.ts";
import path from "node:path";
import { createHeldLines } from "../search/held-lines.ts";
import { FileStates } from "./file-stamp.ts";
import { isMarkdown } from "./folder/markdown-name.ts";
import { memoryRoots, type NotesChoice, type NotesSettings } from "./memory-roots.ts";
import { placeOf } from "./note-place.ts";

/** The Markdown files of a workspace and of `extraPaths`. */
export function createNotesSource(input: {
  /** Canonical absolute path. */
  workspaceDir: string;
  settings: Pick<MemorySearchSettings, "chunking"> & NotesSettings;
  /** Not looked into, where it lies in a folder of notes. */
  stateDir?: string | undefined;
}): IndexedSource {
  const { workspaceDir, settings, stateDir } = input;
  const { extraPaths, exclude } = settings;
  const states = new FileStates();
  const notes: NotesChoice = { notes: settings.notes, stateDir, known: new Map() };
  return {
    source: "memory",
    recipe: recipeOf(settings.chunking),
    scan: async (signal, _, look) =>
      await scanMemory({ workspaceDir, extraPaths, exclude, notes, signal, states, look }),
    stampOf: stampInNote,
    holdsContent,
    skippedBecause,
    holds: createHeldLines({
      placeOf(relPath) {
        const wanted = path.resolve(workspaceDir, relPath);
        const roots = memoryRoots(workspaceDir, extraPaths, notes, exclude);
        const place = isMarkdown(wanted) ? placeOf(wanted, roots) : undefined;
        return place?.link === undefined ? place?.absolutePath : undefined;
      },
      compare: notesHold,
    }),
    read: async (file, stored, signal) => await readChunks(file, "memory", stored, settings.chunking, signal),
  };
}
