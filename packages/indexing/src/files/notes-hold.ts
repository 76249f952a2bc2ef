import { redactLines } from "../secrets/redact-secrets.ts";
import type { FoundLines } from "../search/held-lines.ts";
import { decodeLines } from "../text/file-text.ts";
import { readSettled } from "./read-settled.ts";

/** Compares what the index says of a note with the note, as it would be copied into the index now. */
export async function notesHold(
  absolutePath: string,
  found: readonly FoundLines[],
  signal: AbortSignal,
): Promise<boolean[]> {
  const read = await readSettled(absolutePath, undefined, signal);
  if (!read) return found.map(() => false);
  const written = decodeLines(read.bytes);
  // As a rule they stand there as they are: what was no secret then is none now.
  const plain = wellFormed(written);
  const held = found.map((each) => stands(each, plain));
  if (held.every(Boolean)) return held;
  const redacted = wellFormed(redactLines(written));
  return found.map((each, index) => held[index] === true || stands(each, redacted));
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
