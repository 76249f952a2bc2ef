import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { codeOf } from "@memslot/core/files";
import { readWhole } from "../notes/read-whole.ts";
import type { ChangeOutcome, LoggedChange, NoteChangeRecord } from "./change-log.ts";

interface LogLine {
  change?: NoteChangeRecord;
  id?: string;
  outcome?: ChangeOutcome;
}

/** What was read of a log, up to the end of its last whole line. */
interface KnownLog {
  readonly file: bigint;
  readonly bytes: number;
  /** What stands right before that place, which a log that somebody has edited does not have. */
  readonly tail: Buffer;
  /** `undone` is no state of an entry, but follows from those behind it. */
  readonly changes: Map<string, LoggedChange>;
}

const tailBytes = 256;
const keptLogs = 8;
/** A log only ever grows, and a process that makes many changes need not read them all each time. */
const known = new Map<string, KnownLog>();

/** All changes of a log, oldest first; none where it is not there. Throws what the file system throws. */
export async function readLog(file: string): Promise<LoggedChange[]> {
  let handle: FileHandle;
  try {
    handle = await open(file, constants.O_RDONLY);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
  try {
    const log = await goneOn(handle, known.get(file));
    known.delete(file);
    known.set(file, log);
    for (const oldest of known.keys()) if (known.size > keptLogs) known.delete(oldest);
    return withUndone(log.changes);
  } finally {
    await handle.close();
  }
}

async function goneOn(handle: FileHandle, before: KnownLog | undefined): Promise<KnownLog> {
  const stats = await handle.stat({ bigint: true });
  const isSame =
    before?.file === stats.ino &&
    before.bytes <= stats.size &&
    (await readWhole(handle, before.tail.length, before.bytes - before.tail.length)).equals(before.tail);
  const from = isSame ? before.bytes : 0;
  const changes = isSame ? before.changes : new Map<string, LoggedChange>();
  const added = await readWhole(handle, Number(stats.size) - from, from);
  // Half a line is read again: it may yet be written to its end.
  const whole = added.subarray(0, added.lastIndexOf(10) + 1);
  for (const line of whole.toString("utf8").split("\n")) {
    const { change, id, outcome } = parsed(line);
    if (change !== undefined) changes.set(change.id, { ...change, state: "open" });
    const ended = id === undefined ? undefined : changes.get(id);
    if (ended !== undefined && outcome !== undefined) ended.state = outcome;
  }
  const bytes = from + whole.length;
  const tail = await readWhole(handle, Math.min(bytes, tailBytes), Math.max(0, bytes - tailBytes));
  return { file: stats.ino, bytes, tail, changes };
}

/** From the last to the first: an undo may itself have been undone. */
function withUndone(entries: ReadonlyMap<string, LoggedChange>): LoggedChange[] {
  const changes = new Map([...entries].map(([id, change]) => [id, { ...change }]));
  for (const { state, undoes } of [...changes.values()].toReversed()) {
    const undone = undoes === undefined || state !== "done" ? undefined : changes.get(undoes);
    if (undone?.state === "done") undone.state = "undone";
  }
  return [...changes.values()];
}

/** Half a line was never followed by its change: the log is on disk before the note is touched. */
function parsed(line: string): LogLine {
  try {
    return (JSON.parse(line) as LogLine | null) ?? {};
  } catch {
    return {};
  }
}
