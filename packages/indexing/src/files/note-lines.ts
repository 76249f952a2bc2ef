import path from "node:path";
import type { ExtraPath } from "@memslot/core";
import { decodeLines } from "../text/file-text.ts";
import { createHeldLines, type FoundLines } from "../search/held-lines.ts";
import type { IndexedSource } from "../indexed-source.ts";
import { isMarkdown, memoryRoots } from "./memory-roots.ts";
import { placeOf } from "./note-place.ts";
import { readSettled } from "./read-settled.ts";
import { redactLines } from "../secrets/redact-secrets.ts";

/** Compares what the index says of a note with the note, as it would be copied into the index now. */
export function createNoteLines(input: {
  workspaceDir: string;
  extraPaths: readonly (string | ExtraPath)[];
}): NonNullable<IndexedSource["holds"]> {
  const { workspaceDir, extraPaths } = input;
  return createHeldLines({
    placeOf(relPath) {
      const wanted = path.resolve(workspaceDir, relPath);
      const place = isMarkdown(wanted) ? placeOf(wanted, memoryRoots(workspaceDir, extraPaths)) : undefined;
      return place?.link === undefined ? place?.absolutePath : undefined;
    },
    async compare(absolutePath, found, signal) {
      const read = await readSettled(absolutePath, undefined, signal);
      if (!read) return found.map(() => false);
      const lines = redactLines(decodeLines(read.bytes)).map((line) => line.toWellFormed());
      return found.map((each) => stands(each, lines));
    },
  });
}

/** A line that is too long for one chunk stands there in pieces. */
function stands({ startLine, endLine, lines: said }: FoundLines, lines: readonly string[]): boolean {
  if (startLine === endLine) return said.every((piece) => lines[startLine - 1]?.includes(piece.toWellFormed()));
  if (endLine - startLine + 1 !== said.length) return false;
  return said.every((line, index) => lines[startLine - 1 + index] === line.toWellFormed());
}
