import { MemoryError } from "@memslot/core";
import { localDay } from "../notes/local-day.ts";
import { type NoteChangeRecord, newChangeId, type HeldLog, type LoggedChange } from "./change-log.ts";
import { checkLines, onlyPlace, splice, superseding } from "./changed-text.ts";
import { applied, putBack, reversed } from "./line-change.ts";
import {
  type ChangePlace,
  noFile,
  type NoteChanges,
  trashName,
  type WantedChange,
  withChanges,
} from "./make-change.ts";
import type { NoteContent } from "./note.ts";
import { bytesLike } from "./note-in-place.ts";

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
  return await rewriteNote(options, { id, kind: "edit" }, (text) => {
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
  return await rewriteNote(options, { id, kind: "forget", reason, trash }, (text) => {
    const at = onlyPlace(text, old, relPath);
    checkWhole(text, at, old);
    const end = at + old.length;
    const isEnded = old.endsWith("\n") || text[end] !== "\n";
    return text.slice(0, at) + text.slice(isEnded ? end : end + 1);
  });
}

/** Makes another text of a note, of the state with that hash, or of the present one. What `newText` throws is thrown. */
export async function rewriteNote(
  options: ChangePlace & Pick<TextInNote, "relPath"> & Partial<Pick<TextInNote, "hash" | "old">>,
  facts: Omit<WantedChange, "relPath">,
  newText: (text: string) => string,
): Promise<EditedNote> {
  const { relPath, hash, old } = options;
  if (old?.trim() === "") throw new MemoryError("INVALID_ARGUMENT", "old is empty: give the text to be changed");
  const fits = (sha256: string): boolean => hash === undefined || (hash.length >= 8 && sha256.startsWith(hash));
  const made = await withChanges(options, (changes) =>
    changes.edit({
      ...facts,
      relPath,
      make: (bytes, now) => (fits(now.sha256) ? Buffer.from(bytesLike(bytes, newText(now.text))) : undefined),
    }),
  );
  if (made.state === "done") return made;
  if (made.state === "unchanged") return { state: "unchanged" };
  const what = made.note === undefined ? "is not there" : "is not the one that was read: its hash is another one";
  throw new MemoryError("INVALID_ARGUMENT", `${relPath} ${what}; read it again, and nothing was changed`);
}

function checkWhole(text: string, at: number, old: string): void {
  const end = at + old.length;
  const isWhole =
    (at === 0 || text[at - 1] === "\n") && (old.endsWith("\n") || end === text.length || text[end] === "\n");
  if (!isWhole)
    throw new MemoryError("INVALID_ARGUMENT", "old is a part of a line: give whole lines, as the file has them");
}

/** All changes of the notes of a workspace, the oldest first. Throws as `undoChange` does. */
export async function listChanges(place: ChangePlace): Promise<readonly LoggedChange[]> {
  return await withChanges(place, async ({ log }) => log.changes);
}

/**
 * Takes a change back to the byte, the latest one that is not itself an undo if no id is given; what else has changed in
 * the file stays. Throws `INVALID_ARGUMENT` where there is none, where it has been taken back already, and where its lines
 * or those around them have changed since.
 */
export async function undoChange(place: ChangePlace, id?: string): Promise<NoteChangeRecord> {
  return await withChanges(place, (changes) => {
    const fits = ({ kind }: LoggedChange): boolean => id !== undefined || (kind !== "undo" && kind !== "restore");
    return takeBack(changes, chosen(changes.log, id, fits), "undo");
  });
}

/**
 * Brings back what was forgotten, the latest if no id is given, and takes it out of the trash: to where it was, and where
 * nothing shows that place any more, to the line of the same number. Throws as `undoChange` for what is none, or is back.
 */
export async function restoreNote(place: ChangePlace, id?: string): Promise<NoteChangeRecord> {
  return await withChanges(place, (changes) => {
    const change = chosen(changes.log, id, ({ kind }) => kind === "forget" || kind === "delete");
    return takeBack(changes, change, "restore");
  });
}

function chosen(log: HeldLog, id: string | undefined, fits: (change: LoggedChange) => boolean): LoggedChange {
  const change = log.changes.findLast(
    (each) => fits(each) && (id === undefined ? each.state === "done" : each.id === id),
  );
  if (change === undefined)
    throw new MemoryError(
      "INVALID_ARGUMENT",
      id === undefined
        ? "there is no change that could be taken back"
        : `there is no such change as ${JSON.stringify(id)}: \`memslot log\` lists them`,
    );
  if (change.state === "done") return change;
  const why = {
    undone: "has been taken back already",
    "not done": "was never made: its process ended before",
    unclear: "was interrupted, and the note has changed since: compare it with `memslot log --json`",
    open: "is being made",
  }[change.state];
  throw new MemoryError("INVALID_ARGUMENT", `change ${change.id} of ${change.path} ${why}`);
}

async function takeBack(
  changes: NoteChanges,
  change: LoggedChange,
  kind: "undo" | "restore",
): Promise<NoteChangeRecord> {
  const { id, path: relPath, trash } = change;
  const wanted = {
    kind,
    relPath,
    undoes: id,
    // Whoever takes a return out of the trash back forgets once more.
    ...(change.after === "" ? { outOfTrash: trash } : { trash }),
  };
  if (change.sha256After === noFile) return await changes.make({ ...wanted, text: change.before });
  if (change.sha256Before === noFile) return await changes.remove({ ...wanted, sha256: change.sha256After });
  const made = await changes.edit({
    ...wanted,
    make: (bytes: Buffer) => {
      const back = reversed(change);
      return applied(bytes, back) ?? (kind === "restore" ? putBack(bytes, back) : undefined);
    },
  });
  if (made.state === "done") return made.change;
  const where = change.trash === undefined ? "`memslot log --json`" : change.trash;
  throw new MemoryError(
    "INVALID_ARGUMENT",
    made.note === undefined
      ? `${relPath} is not there any more: what it said before change ${id} stands in ${where}`
      : `${relPath} has changed since in the lines of change ${id} or right beside them (line ${change.startLine} then): take later changes back first, or put it right by hand; what it said stands in ${where}`,
  );
}
