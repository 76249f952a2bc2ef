import type { ChangePlace, MadeChange } from "./change-place.ts";
import { readNote, changeNote } from "../notes/replace-note.ts";
import type { NoteContent } from "../notes/note-content.ts";
import { type ChangeKind, type HeldLog, type NoteChangeRecord, holdingLog } from "./change-log.ts";
import { lineChange } from "./line-change.ts";
import { hashOf } from "./hash.ts";
import { settleChanges } from "./settle-changes.ts";
import { dropTrash, writeTrash } from "./trash.ts";

/** One change that is wanted. */
export interface WantedChange {
  id: string;
  kind: ChangeKind;
  relPath: string;
  reason?: string | undefined;
  undoes?: string | undefined;
  /** Where the lines go that are taken out. */
  trash?: string | undefined;
  /** Where the lines lie that are brought back. */
  outOfTrash?: string | undefined;
  /** As `NoteChange.make`. */
  make(bytes: Uint8Array, now: NoteContent): Uint8Array | undefined;
}

/** Runs something with the log of changes in hand, in which the end of every earlier change has been written down. */
export async function withChanges<T>(place: ChangePlace, run: (log: HeldLog) => Promise<T>): Promise<T> {
  return await holdingLog(place, async (log) => {
    const open = log.changes.some(({ state }) => state === "open");
    if (open) await settleChanges(place, log);
    return await run(log);
  });
}

/**
 * Changes a note: what is to become of it is on disk in the log before the note is touched. A process that is killed in
 * between leaves an entry whose end is found out by the next one.
 */
export async function makeChange(place: ChangePlace, log: HeldLog, wanted: WantedChange): Promise<MadeChange> {
  const { relPath, id, kind, reason, undoes, trash, outOfTrash, make } = wanted;
  const name = { ...place, relPath };
  let change: NoteChangeRecord | undefined;
  const prepare = async (before: Buffer, after: Buffer): Promise<void> => {
    const record: NoteChangeRecord = {
      id,
      at: place.at.toISOString(),
      ...place.changer,
      kind,
      path: relPath,
      reason,
      undoes,
      trash: trash ?? outOfTrash,
      sha256Before: hashOf(before),
      sha256After: hashOf(after),
      ...lineChange(before, after),
    };
    await log.write(record);
    change = record;
    if (trash !== undefined) await writeTrash(place, { ...record, trash });
  };
  try {
    const made = await changeNote(name, { make, prepare });
    if (change === undefined)
      return made.state === "replaced"
        ? { state: "unchanged", note: made.note }
        : { state: "conflict", note: made.note };
    if (made.state === "conflict") {
      await notDone(place, log, change);
      return made;
    }
    if (outOfTrash !== undefined) await dropTrash(place, outOfTrash);
    // What has been done is not undone by a log that is full: the next change finds out how this one ended.
    await log.end(id, "done").catch(() => undefined);
    return { state: "done", change, note: made.note };
  } catch (error) {
    const now = change && (await readNote(name).catch(() => undefined));
    if (change !== undefined && now?.sha256 === change.sha256Before)
      await notDone(place, log, change).catch(() => undefined);
    throw error;
  }
}

async function notDone(place: ChangePlace, log: HeldLog, change: NoteChangeRecord): Promise<void> {
  if (change.after === "" && change.trash !== undefined) await dropTrash(place, change.trash);
  await log.end(change.id, "not done").catch(() => undefined);
}
