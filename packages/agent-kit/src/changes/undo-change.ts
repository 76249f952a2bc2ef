import { MemoryError } from "@memslot/core";
import { type HeldLog, type LoggedChange, type NoteChangeRecord, newChangeId, noFile } from "./change-log.ts";
import { makeNote, removeNote } from "./whole-note.ts";
import { applied, putBack, reversed } from "./line-change.ts";
import { type ChangePlace, makeChange, withChanges } from "./make-change.ts";

/** All changes of the notes of a workspace, the oldest first. Throws as `undoChange` does. */
export async function listChanges(place: ChangePlace): Promise<readonly LoggedChange[]> {
  return await withChanges(place, async (log) => log.changes);
}

/**
 * Takes a change back to the byte, the latest one that is not itself an undo if no id is given; what else has changed in
 * the file stays. Throws `INVALID_ARGUMENT` where there is none, where it has been taken back already, and where its lines
 * or those around them have changed since.
 */
export async function undoChange(place: ChangePlace, id?: string): Promise<NoteChangeRecord> {
  return await withChanges(place, async (log) => {
    const change = chosen(log, id, ({ kind }) => id !== undefined || (kind !== "undo" && kind !== "restore"));
    return await takeBack(place, log, change, "undo");
  });
}

/**
 * Brings back what was forgotten, the latest if no id is given, and takes it out of the trash: to where it was, and where
 * nothing shows that place any more, to the line of the same number. Throws as `undoChange` for what is none, or is back.
 */
export async function restoreNote(place: ChangePlace, id?: string): Promise<NoteChangeRecord> {
  return await withChanges(place, async (log) => {
    const change = chosen(log, id, ({ kind }) => kind === "forget" || kind === "delete");
    return await takeBack(place, log, change, "restore");
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
  place: ChangePlace,
  log: HeldLog,
  change: LoggedChange,
  kind: "undo" | "restore",
): Promise<NoteChangeRecord> {
  const { id, path: relPath, trash } = change;
  const wanted = {
    id: newChangeId(),
    kind,
    relPath,
    undoes: id,
    // Whoever takes a return out of the trash back forgets once more.
    ...(change.after === "" ? { outOfTrash: trash } : { trash }),
  };
  if (change.sha256After === noFile) return await makeNote(place, log, { ...wanted, text: change.before });
  if (change.sha256Before === noFile) return await removeNote(place, log, { ...wanted, sha256: change.sha256After });
  const made = await makeChange(place, log, {
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
