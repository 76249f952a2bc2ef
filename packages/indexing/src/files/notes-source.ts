import type { MemorySearchSettings } from "@memslot/core";
import type { IndexedSource } from "../indexed-source.ts";
import { createNoteLines } from "./note-lines.ts";
import { holdsContent, readChunks, recipeOf, skippedBecause, stampInNote } from "./read-chunks.ts";
import { scanMemory } from "./scan.ts";

/** The Markdown files of a workspace and of `extraPaths`. */
export function createNotesSource(input: {
  /** Canonical absolute path. */
  workspaceDir: string;
  settings: Pick<MemorySearchSettings, "chunking" | "extraPaths">;
}): IndexedSource {
  const { workspaceDir, settings } = input;
  return {
    source: "memory",
    recipe: recipeOf(settings.chunking),
    scan: async (signal) => await scanMemory({ workspaceDir, extraPaths: settings.extraPaths, signal }),
    stampOf: stampInNote,
    holdsContent,
    skippedBecause,
    holds: createNoteLines({ workspaceDir, extraPaths: settings.extraPaths }),
    read: async (file, stored, signal) => await readChunks(file, "memory", stored, settings.chunking, signal),
  };
}
