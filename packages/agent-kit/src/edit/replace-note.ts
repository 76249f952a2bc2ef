import { invalid } from "../state-locks.ts";
import { changeNote, inFolder, present } from "./atomic-note-write.ts";
import type { NoteContent, NoteName, ReplacedNote, ReplaceNoteOptions } from "./note-types.ts";
import { bytesLike } from "./line-changes.ts";

/** Reads a note for editing; undefined if there is none. Throws `PATH_NOT_ALLOWED`, and `WORKSPACE` above 4 MB. */
export async function readNote(given: NoteName): Promise<NoteContent | undefined> {
  return await inFolder(given, present);
}

/**
 * Replaces the text of an unchanged note, whole or not at all, on disk when it resolves. Text appended meanwhile is
 * kept; any other change is a conflict. Throws as `readNote`, `INVALID_ARGUMENT`, `BUSY` after 5 s, and an `AbortError`
 * before it writes.
 */
export async function replaceNote(options: ReplaceNoteOptions): Promise<ReplacedNote> {
  const { text, sha256 } = options;
  checkText(text);
  return await changeNote(options, {
    make: (bytes, now) => (now.sha256 === sha256 ? bytesLike(bytes, text) : undefined),
  });
}

/** Throws `INVALID_ARGUMENT` for a text that is none, or that a file could not give back. */
export function checkText(text: string): void {
  if (typeof (text as unknown) !== "string") throw invalid("text must be the whole note, as a string");
  if (text.includes("\0")) throw invalid("text has a NUL character: leave it out");
  if (!text.isWellFormed()) throw invalid("text has half of a character (a lone surrogate): leave it out");
}
