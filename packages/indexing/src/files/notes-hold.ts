import { noteText, TextLines } from "../text/file-text.ts";
import { holdsLines, type NoteBytes } from "./note-tasks.ts";
import { noteTask } from "./note-thread.ts";
import { readSettled } from "./read-settled.ts";

/** Compares what the index says of a note with the note, as it would be copied into the index now. */
export async function notesHold(
  absolutePath: string,
  found: NonNullable<NoteBytes["found"]>,
  signal: AbortSignal,
): Promise<boolean[]> {
  const read = await readSettled(absolutePath, undefined, signal);
  if (!read) return found.map(() => false);
  const written = new TextLines(noteText(read.bytes));
  // As a rule they stand there as they are: what was no secret then is none now.
  const held = found.map((each) => holdsLines(each, written.slice(each.startLine, each.endLine)));
  if (held.every(Boolean)) return held;
  const redacted = await noteTask("hold", { bytes: read.bytes, found }, signal);
  return held.map((isHeld, index) => isHeld || redacted[index] === true);
}
