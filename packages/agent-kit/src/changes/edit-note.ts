import { MemoryError } from "@memslot/core";
import { localDay } from "../notes/local-day.ts";
import { bytesLike, type NoteContent } from "../notes/note-content.ts";
import { type NoteChangeRecord, newChangeId } from "./change-log.ts";
import { checkLines, onlyPlace, splice } from "./changed-text.ts";
import { type ChangePlace, type MadeChange, makeChange, withChanges } from "./make-change.ts";
import { superseding } from "./supersede.ts";
import { trashName } from "./trash.ts";

interface TextInNote extends ChangePlace {
  /** Relative to the workspace, with `/`. */
  relPath: string;
  /** The first 8 or more hexadecimal digits of the SHA-256 of the file that the text was read from. */
  hash: string;
  /** Exactly as the file has it, and once only; LF line ends. */
  old: string;
  /** The user's, as an IANA name. */
  timeZone: string;
}

export interface EditNoteOptions extends TextInNote {
  text: string;
  /** The old lines stay below the new ones, struck and linked. Whole lines only. */
  supersedes?: boolean | undefined;
}

export interface ForgetNoteOptions extends TextInNote {
  reason: string;
}

/** `unchanged`: the new text is the old one. */
export type EditedNote = { state: "done"; change: NoteChangeRecord; note: NoteContent } | { state: "unchanged" };

/**
 * Replaces a text in a note, logged before it is done. Throws `INVALID_ARGUMENT` where the file is not the one that was
 * read, where the old text is not in it once, and for lines that could not have been appended; otherwise as `replaceNote`.
 */
export async function editNote(options: EditNoteOptions): Promise<EditedNote> {
  const { old, relPath, supersedes } = options;
  const id = newChangeId();
  const day = localDay(options.at, options.timeZone);
  return await changed(options, { id, kind: "edit" }, (text) => {
    const at = onlyPlace(text, old, relPath);
    if (supersedes === true) checkWhole(text, at, old);
    const body = supersedes === true && old.endsWith("\n") ? old.slice(0, -1) : old;
    const wanted = options.text.replaceAll(/\r\n?/gu, "\n");
    // Before it is split into lines: the check of the whole would not see what a strike hides.
    if (supersedes === true) checkLines({ text: "", linesBefore: wanted, linesAfter: wanted }, "");
    const by = supersedes === true ? superseding(body, wanted.trim(), { id, day }) : wanted;
    const spliced = splice(text, at, body.length, by);
    checkLines(spliced, relPath);
    return spliced.text;
  });
}

/** Takes whole lines out of a note, into a file of `memory/.trash/`. Throws as `editNote` does. */
export async function forgetNote(options: ForgetNoteOptions): Promise<EditedNote> {
  const { old, relPath, reason } = options;
  const id = newChangeId();
  const trash = trashName(id, localDay(options.at, options.timeZone));
  return await changed(options, { id, kind: "forget", reason, trash }, (text) => {
    const at = onlyPlace(text, old, relPath);
    checkWhole(text, at, old);
    const end = at + old.length;
    const isEnded = old.endsWith("\n") || text[end] !== "\n";
    return text.slice(0, at) + text.slice(isEnded ? end : end + 1);
  });
}

async function changed(
  options: TextInNote,
  facts: { id: string; kind: "edit" | "forget"; reason?: string; trash?: string },
  newText: (text: string) => string,
): Promise<EditedNote> {
  if (options.old.trim() === "") throw new MemoryError("INVALID_ARGUMENT", "old is empty: give the text to be changed");
  return await rewriteNote(options, facts, newText);
}

/** Makes another text of a note, of the state with that hash, or of the present one. What `newText` throws is thrown. */
export async function rewriteNote(
  options: ChangePlace & { relPath: string; hash?: string | undefined },
  facts: { id: string; kind: "edit" | "forget"; reason?: string; trash?: string },
  newText: (text: string) => string,
): Promise<EditedNote> {
  const { relPath, hash } = options;
  const fits = (sha256: string): boolean => hash === undefined || (hash.length >= 8 && sha256.startsWith(hash));
  const made = await withChanges(options, (log) =>
    makeChange(options, log, {
      ...facts,
      relPath,
      make: (bytes, now) => (fits(now.sha256) ? Buffer.from(bytesLike(bytes, newText(now.text))) : undefined),
    }),
  );
  if (made.state === "done") return made;
  if (made.state === "conflict") throw conflict(relPath, made);
  return { state: "unchanged" };
}

function conflict(relPath: string, { note }: Exclude<MadeChange, { state: "done" }>): MemoryError {
  const what = note === undefined ? "is not there" : "is not the one that was read: its hash is another one";
  return new MemoryError("INVALID_ARGUMENT", `${relPath} ${what}; read it again, and nothing was changed`);
}

function checkWhole(text: string, at: number, old: string): void {
  const end = at + old.length;
  const isWhole =
    (at === 0 || text[at - 1] === "\n") && (old.endsWith("\n") || end === text.length || text[end] === "\n");
  if (!isWhole)
    throw new MemoryError("INVALID_ARGUMENT", "old is a part of a line: give whole lines, as the file has them");
}
