import { sentence } from "@memslot/core/host";
import { invalid } from "../state-locks.ts";
import {
  type ChangeLog,
  type ChangePlace,
  type LoggedChange,
  newChangeId,
  type NoteChangeRecord,
  type WantedChange,
} from "./change-log.ts";
import { localDay } from "./local-day.ts";
import { noFile, type NoteChanges, trashName, withChanges } from "./logged-changes.ts";
import { applied, bytesLike, checkLines, onlyPlace, putBack, reversed, splice, superseding } from "./line-changes.ts";
import type { NoteContent } from "./note-types.ts";
import { checkText } from "./replace-note.ts";

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

export type EditedNote = { state: "done"; change: NoteChangeRecord; note: NoteContent } | { state: "unchanged" };

/** Replaces a text that is in the note exactly once; the change is logged first. Throws as `replaceNote`. */
export async function editNote(options: EditNoteOptions): Promise<EditedNote> {
  const { old, relPath, supersedes } = options;
  const id = newChangeId();
  const day = localDay(options.at, options.timeZone);
  return await rewriteNote(options, { id, kind: "edit" }, (text) => {
    const at = onlyPlace(text, old, relPath);
    const wanted = options.text.replaceAll(/\r\n?/gu, "\n");
    const spliced = supersedes === true ? superseded(text, at, wanted.trim()) : splice(text, at, old.length, wanted);
    checkLines(spliced, relPath);
    return spliced.text;
  });

  function superseded(text: string, at: number, wanted: string): ReturnType<typeof splice> {
    checkWhole(text, at, old);
    // Before it is split into lines: the check of the whole would not see what a strike hides.
    checkLines({ text: "", linesBefore: wanted, linesAfter: wanted }, "");
    const body = old.endsWith("\n") ? old.slice(0, -1) : old;
    return splice(text, at, body.length, superseding(body, wanted, { id, day }));
  }
}

/** Moves whole lines of a note to a file of `memory/.trash/`. Throws as `editNote` does. */
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

export async function rewriteNote(
  options: ChangePlace & Pick<TextInNote, "relPath"> & Partial<Pick<TextInNote, "hash" | "old">>,
  facts: Omit<WantedChange, "relPath">,
  newText: (text: string) => string,
): Promise<EditedNote> {
  const { relPath, hash, old } = options;
  if (old?.trim() === "") throw invalid("old is empty: give the text to be changed");
  const fits = (sha256: string): boolean => hash === undefined || (hash.length >= 8 && sha256.startsWith(hash));
  const made = await withChanges(options, (changes) =>
    changes.edit({
      ...facts,
      relPath,
      make: (bytes, now) => (fits(now.sha256) ? bytesLike(bytes, newText(now.text)) : undefined),
    }),
  );
  if (made.state === "done") return made;
  if (made.state === "unchanged") return { state: "unchanged" };
  const what = made.note === undefined ? "does not exist" : "has changed: its hash is another one";
  throw invalid(`${relPath} ${what}; read it again, and nothing was changed`);
}

interface WholeNote extends ChangePlace {
  /** Relative to the workspace, with `/`. */
  relPath: string;
}

/** Creates a note, and its folders. Throws `INVALID_ARGUMENT` if it exists or is no Markdown, `PATH_NOT_ALLOWED`. */
export async function createNote({ relPath, text, ...place }: WholeNote & { text: string }): Promise<NoteChangeRecord> {
  checkName(relPath);
  checkText(text);
  return await withChanges(place, (changes) => changes.make({ kind: "create", relPath, text }));
}

/** Renames a note whose hash is `sha256`. Links to it are not rewritten. Throws as `createNote` does. */
export async function renameNote(options: WholeNote & { to: string; sha256: string }): Promise<NoteChangeRecord> {
  const { relPath, to, sha256, ...place } = options;
  checkName(to);
  const reason = `renamed ${relPath} to ${to}`;
  return await withChanges(place, (changes) => changes.move({ relPath, to, reason, sha256 }));
}

/** Moves a note whose hash is `sha256` to `memory/.trash/`; `restoreNote` brings it back. Throws as `editNote` does. */
export async function deleteNote(options: WholeNote & { sha256: string; timeZone: string }): Promise<NoteChangeRecord> {
  const { relPath, sha256, timeZone, ...place } = options;
  return await withChanges(place, (changes) => changes.trash({ relPath, sha256 }, timeZone));
}

function checkName(relPath: string): void {
  if (!/[^/]\.md$/iu.test(relPath)) throw invalid(sentence("note.markdown", { path: relPath }));
}

function checkWhole(text: string, at: number, old: string): void {
  const end = at + old.length;
  const isWhole =
    (at === 0 || text[at - 1] === "\n") && (old.endsWith("\n") || end === text.length || text[end] === "\n");
  if (!isWhole) throw invalid("old is a part of a line: give whole lines, as the file has them");
}

/** All changes of the notes of a workspace, the oldest first. Throws as `undoChange` does. */
export async function listChanges(place: ChangePlace): Promise<readonly LoggedChange[]> {
  return await withChanges(place, async ({ log }) => log.changes);
}

/** Takes a change back to the byte, by default the latest. Throws `INVALID_ARGUMENT` if that is impossible. */
export async function undoChange(place: ChangePlace, id?: string): Promise<NoteChangeRecord> {
  return await withChanges(place, (changes) => {
    const fits = ({ kind }: LoggedChange): boolean => id !== undefined || (kind !== "undo" && kind !== "restore");
    return takeBack(changes, chosen(changes.log, id, fits), "undo");
  });
}

/** Restores forgotten lines, by default the latest, and removes them from the trash. Throws as `undoChange` does. */
export async function restoreNote(place: ChangePlace, id?: string): Promise<NoteChangeRecord> {
  return await withChanges(place, (changes) => {
    const change = chosen(changes.log, id, ({ kind }) => kind === "forget" || kind === "delete");
    return takeBack(changes, change, "restore");
  });
}

function chosen(log: ChangeLog, id: string | undefined, fits: (change: LoggedChange) => boolean): LoggedChange {
  const change = log.changes.findLast(
    (each) => fits(each) && (id === undefined ? each.state === "done" : each.id === id),
  );
  if (change === undefined)
    throw invalid(id === undefined ? sentence("change.none") : sentence("change.unknown", { id: JSON.stringify(id) }));
  if (change.state === "done") return change;
  throw invalid(sentence(`change.${change.state}`, { id: change.id, path: change.path }));
}

async function takeBack(
  changes: NoteChanges,
  change: LoggedChange,
  kind: "undo" | "restore",
): Promise<NoteChangeRecord> {
  const { id, path: relPath, trash } = change;
  // To take a restore back means to forget once more.
  const wanted = { kind, relPath, undoes: id, ...(change.after === "" ? { outOfTrash: trash } : { trash }) };
  if (change.sha256After === noFile) return await changes.make({ ...wanted, text: change.before });
  if (change.sha256Before === noFile) return await changes.remove({ ...wanted, sha256: change.sha256After });
  const back = reversed(change);
  const made = await changes.edit({
    ...wanted,
    make: (bytes) => applied(bytes, back) ?? (kind === "restore" ? putBack(bytes, back) : undefined),
  });
  if (made.state === "done") return made.change;
  const where = trash ?? "`memslot log --json`";
  const about = { path: relPath, id, line: change.startLine, where };
  throw invalid(sentence(made.note === undefined ? "change.gone" : "change.later", about));
}
