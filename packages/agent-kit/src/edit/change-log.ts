import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, realpath, type FileHandle } from "node:fs/promises";
import path from "node:path";
import { syncFolder, unlessMissing } from "@memslot/core/files";
import { closing, appendWhole, hashOf, readWhole } from "../notes/file-bytes.ts";
import { orUnavailable, withStateLock } from "../state-lock.ts";

/** What has become of some lines of a file: enough to find the place again, and to take the change back to the byte. */
export interface LineChange {
  /** The first line that differs, counted from 1. */
  startLine: number;
  /** Bytes before the lines. */
  offset: number;
  /** The lines with their line ends, as they were and as they are. */
  before: string;
  after: string;
  /** The line before them and the one behind them, empty where there is none. */
  above: string;
  below: string;
}

/** What a change is: `create` and `delete` are of whole notes, `restore` brings back what was forgotten, `undo` takes any other back. */
export type ChangeKind = "edit" | "forget" | "create" | "delete" | "restore" | "undo";

/** Who makes a change. */
export interface Changer {
  agentId: string;
  /** The session, as the host names it. */
  session?: string | undefined;
  /** The tool or the command. */
  by: string;
}

/** One change of a note, as it was written down before it was made. */
export interface NoteChangeRecord extends Changer, LineChange {
  /** Eight hexadecimal digits. */
  id: string;
  /** ISO 8601. */
  at: string;
  kind: ChangeKind;
  /** The note, relative to the workspace. */
  path: string;
  /** Why, where it was told. */
  reason?: string | undefined;
  /** The change that this one takes back. */
  undoes?: string | undefined;
  /** Where what was forgotten lies, relative to the workspace. */
  trash?: string | undefined;
  /** Of the whole file, hexadecimal; empty where there is none. */
  sha256Before: string;
  sha256After: string;
}

/** `unclear`: its process ended in the middle, and the note has changed so that nobody can tell any more. */
export type ChangeOutcome = "done" | "not done" | "unclear";

export interface LoggedChange extends NoteChangeRecord {
  /** `undone`: it was made and taken back. `open`: it is being made, or its process ended in the middle. */
  state: ChangeOutcome | "undone" | "open";
}

/** The log of a workspace, held by this process alone. */
export interface HeldLog {
  readonly changes: readonly LoggedChange[];
  /** On disk when it resolves. */
  write(change: NoteChangeRecord): Promise<void>;
  end(id: string, outcome: ChangeOutcome): Promise<void>;
}

interface LogPlace {
  workspaceDir: string;
  stateDir: string;
  signal?: AbortSignal | undefined;
}

const waitMs = 10_000;

export function newChangeId(): string {
  return randomBytes(4).toString("hex");
}

/**
 * Runs something while no other process changes notes of this workspace by way of its log, which is read before. Throws
 * `BUSY` where another one does so for 10 s, `UNAVAILABLE` where the state folder cannot be used.
 */
export async function holdingLog<T>(given: LogPlace, run: (log: HeldLog) => Promise<T>): Promise<T> {
  const { stateDir, signal } = given;
  const { file, key } = await logFile(given);
  const locks = path.join(stateDir, "locks");
  await telling(file, async () => {
    await mkdir(locks, { recursive: true, mode: 0o700 });
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  });
  const busy = (holder: { pid: number } | undefined): string =>
    `the notes are being changed by ${holder ? `process ${holder.pid}` : "another process"} for more than 10 s; try again`;
  return await withStateLock(path.join(locks, `changes-${key}.lock`), { waitMs, busy, signal }, async () => {
    const changes = await telling(file, () => readLog(file));
    return await run({
      changes,
      write: (change) => telling(file, () => appendLine(file, JSON.stringify({ change }))),
      end: (id, outcome) => telling(file, () => appendLine(file, JSON.stringify({ id, outcome }))),
    });
  });
}

async function logFile({ workspaceDir, stateDir }: LogPlace): Promise<{ file: string; key: string }> {
  // A workspace that is not there has no log of its own, and no note that could be changed.
  const place = await realpath(workspaceDir).catch(() => path.resolve(workspaceDir));
  const key = hashOf(place).slice(0, 32);
  return { file: path.join(stateDir, "changes", `${key}.jsonl`), key };
}

async function appendLine(file: string, line: string): Promise<void> {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;
  await closing(await open(file, flags, 0o600), async (handle) => {
    const { size } = await handle.stat();
    const last = Buffer.alloc(1);
    if (size > 0) await handle.read(last, 0, 1, size - 1);
    // What a killed process has left of a line stays a line of its own, which is passed over.
    const begin = size > 0 && last[0] !== 10 ? "\n" : "";
    await appendWhole(handle, Buffer.from(`${begin}${line}\n`));
    if (size === 0) await syncFolder(path.dirname(file));
  });
}

function telling<T>(file: string, run: () => Promise<T>): Promise<T> {
  return orUnavailable(run, (why) => {
    return `the log of changes ${file} cannot be used: ${why}; nothing was changed. Check the state folder and the room on its disk`;
  });
}

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
async function readLog(file: string): Promise<LoggedChange[]> {
  const opened = await open(file, constants.O_RDONLY).catch(unlessMissing);
  if (opened === undefined) return [];
  return await closing(opened, async (handle) => {
    const log = await goneOn(handle, known.get(file));
    known.delete(file);
    known.set(file, log);
    for (const oldest of known.keys()) if (known.size > keptLogs) known.delete(oldest);
    return withUndone(log.changes);
  });
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
