import { MemoryError } from "@memslot/core";
import type { NoteContent } from "../notes/note-content.ts";
import type { NoteName } from "../notes/note-name.ts";
import { readNote, changeNote } from "../notes/replace-note.ts";
import {
  type ChangeKind,
  type HeldLog,
  type NoteChangeRecord,
  holdingLog,
  hashOf,
  type Changer,
  type ChangeOutcome,
  noFile,
} from "./change-log.ts";
import { lineChange, holdsOnce } from "./line-change.ts";
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

/** Where notes are changed, and by whom. */
export interface ChangePlace extends Omit<NoteName, "relPath"> {
  changer: Changer;
  /** The moment of the change. */
  at: Date;
  signal?: AbortSignal | undefined;
}

/** `unchanged`: the note says so already. `conflict` as in `ReplacedNote`. */
export type MadeChange =
  | { state: "done"; change: NoteChangeRecord; note: NoteContent }
  | { state: "unchanged" | "conflict"; note: NoteContent | undefined };

/** Finds out how the changes have ended whose processes did not live to say so, and writes it down. */
export async function settleChanges(place: ChangePlace, log: HeldLog): Promise<void> {
  for (const change of log.changes) {
    if (change.state !== "open") continue;
    const outcome = await outcomeOf(place, change, log);
    const drops = outcome === (change.after === "" ? "not done" : "done");
    if (change.trash !== undefined && drops) await dropTrash(place, change.trash);
    await log.end(change.id, outcome);
    change.state = outcome;
  }
}

async function outcomeOf(place: ChangePlace, change: NoteChangeRecord, log: HeldLog): Promise<ChangeOutcome> {
  const bytes = await bytesNow(place, change.path);
  const later = log.changes.slice(log.changes.findIndex(({ id }) => id === change.id) + 1);
  const next = later.find(({ path }) => path === change.path);
  const isWhole = [change.sha256Before, change.sha256After].includes(noFile);
  const hashes = [next?.sha256Before, bytes === undefined ? (isWhole ? noFile : undefined) : hashOf(bytes)];
  for (const hash of hashes) {
    if (hash === change.sha256After) return "done";
    if (hash === change.sha256Before) return "not done";
  }
  if (bytes === undefined || isWhole) return "unclear";
  const [wasLines, isLines] = [change.before, change.after].map((lines) => holdsOnce(bytes, lines));
  // Lines that were only taken out, or only put back, tell it alone.
  if (change.after === "") return wasLines ? "not done" : bytes.includes(change.before) ? "unclear" : "done";
  if (change.before === "") return isLines ? "done" : bytes.includes(change.after) ? "unclear" : "not done";
  if (wasLines === isLines) return "unclear";
  return isLines ? "done" : "not done";
}

/** Undefined where it is not there, or cannot be read any more: later changes are not to wait for that. */
async function bytesNow(place: ChangePlace, relPath: string): Promise<Buffer | undefined> {
  const seen: Buffer[] = [];
  try {
    await changeNote(
      { ...place, relPath },
      {
        make: (bytes: Buffer) => {
          seen.push(bytes);
          return undefined;
        },
      },
    );
  } catch (error) {
    if (!MemoryError.is(error, "WORKSPACE") && !MemoryError.is(error, "PATH_NOT_ALLOWED")) throw error;
  }
  return seen[0];
}
