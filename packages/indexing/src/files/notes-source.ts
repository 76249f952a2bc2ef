import type { MemorySearchSettings } from "@memslot/core";
import type { IndexedSource } from "../indexed-source.ts";
import { holdsContent, notesHold, readChunks, recipeOf, skippedBecause, stampInNote } from "./read-chunks.ts";
import { scanMemory, type ScanMemory } from "./scan.ts";
import path from "node:path";
import { createHeldLines } from "../search/held-lines.ts";
import { FileStates } from "./file-stamp.ts";
import { isMarkdown } from "./folder/markdown-name.ts";
import { memoryRoots, type Workspace } from "./memory-roots.ts";
import { placeOf } from "./note-place.ts";

/** The Markdown files of a workspace and of `extraPaths`. */
export function createNotesSource(
  workspace: Workspace & { settings: Pick<MemorySearchSettings, "chunking"> },
): IndexedSource {
  const { workspaceDir, settings } = workspace;
  const known: ScanMemory = { states: new FileStates(), ignoreFiles: new Map() };
  return {
    source: "memory",
    recipe: recipeOf(settings.chunking),
    scan: async (signal, _, look) => await scanMemory(workspace, signal, look, known),
    stampOf: stampInNote,
    holdsContent,
    skippedBecause,
    holds: createHeldLines({
      placeOf(relPath) {
        const wanted = path.resolve(workspaceDir, relPath);
        const roots = memoryRoots(workspace, known.ignoreFiles);
        const place = isMarkdown(wanted) ? placeOf(wanted, roots) : undefined;
        return place?.link === undefined ? place?.absolutePath : undefined;
      },
      compare: notesHold,
    }),
    read: async (file, stored, signal) => await readChunks(file, "memory", stored, settings.chunking, signal),
  };
}
