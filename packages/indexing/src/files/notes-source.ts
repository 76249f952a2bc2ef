import type { MemorySearchSettings, ExtraPath } from "@memslot/core";
import type { IndexedSource } from "../indexed-source.ts";
import { holdsContent, readChunks, recipeOf, skippedBecause, stampInNote } from "./read-chunks.ts";
import { scanMemory } from "./scan.ts";
import path from "node:path";
import { decodeLines } from "../text/file-text.ts";
import { createHeldLines, type FoundLines } from "../search/held-lines.ts";
import { FileStates } from "./file-stamp.ts";
import { isMarkdown } from "./folder/markdown-name.ts";
import { memoryRoots, type NotesChoice } from "./memory-roots.ts";
import { placeOf } from "./note-place.ts";
import { readSettled } from "./read-settled.ts";
import { redactLines } from "../secrets/redact-secrets.ts";

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

/** Compares what the index says of a note with the note, as it would be copied into the index now. */
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
    async compare(absolutePath, found, signal) {
      const read = await readSettled(absolutePath, undefined, signal);
      if (!read) return found.map(() => false);
      const written = decodeLines(read.bytes);
      // As a rule they stand there as they are: what was no secret then is none now.
      const plain = wellFormed(written);
      const held = found.map((each) => stands(each, plain));
      if (held.every(Boolean)) return held;
      const redacted = wellFormed(redactLines(written));
      return found.map((each, index) => held[index] === true || stands(each, redacted));
    },
  });
}

function wellFormed(lines: readonly string[]): string[] {
  return lines.map((line) => line.toWellFormed());
}

/** A line that is too long for one chunk stands there in pieces. */
function stands({ startLine, endLine, lines: said }: FoundLines, lines: readonly string[]): boolean {
  if (startLine === endLine) return said.every((piece) => lines[startLine - 1]?.includes(piece.toWellFormed()));
  if (endLine - startLine + 1 !== said.length) return false;
  return said.every((line, index) => lines[startLine - 1 + index] === line.toWellFormed());
}
