import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, realpath, type FileHandle } from "node:fs/promises";
import path from "node:path";
import { syncFolder, unlessMissing } from "@memslot/core/files";
import { busyFor, orUnavailable, withStateLock } from "../state-locks.ts";
import type { NoteName } from "./note-types.ts";
import { closing, appendWhole, hashOf, readWhole } from "./safe-writes.ts";

/** `create` and `delete`: of whole notes. `restore` brings back what was forgotten, `undo` takes back any other change. */
export type ChangeKind = "edit" | "forget" | "create" | "delete" | "restore" | "undo";

export interface Changer {
  agentId: string;
  /** The key of the session, as the host names it. */
  session?: string | undefined;
  by: string;
}

export interface ChangePlace extends Omit<NoteName, "relPath"> {
  changer: Changer;
  at: Date;
  signal?: AbortSignal | undefined;
}

/** Changed lines of a file: enough to find the place again, and to take the change back to the byte. */
export interface LineChange {
  /** The first line that differs, counted from 1. */
  startLine: number;
  offset: number;
  before: string;
  after: string;
  above: string;
  below: string;
}

export interface NoteChangeRecord extends Changer, LineChange {
  id: string;
  at: string;
  kind: ChangeKind;
  path: string;
  reason?: string | undefined;
  /** The id of the change that this one takes back. */
  undoes?: string | undefined;
  /** The file with the forgotten lines, relative to the workspace. */
  trash?: string | undefined;
  /** Of the whole file, hexadecimal; empty if there is no file. */
  sha256Before: string;
  sha256After: string;
}

export interface WantedChange extends Pick<NoteChangeRecord, "kind" | "reason" | "undoes" | "trash"> {
  id?: string | undefined;
  relPath: string;
  outOfTrash?: string | undefined;
}

/** `unclear`: its process ended in the middle, and the note has changed since. */
export type ChangeOutcome = "done" | "not done" | "unclear";

export interface LoggedChange extends NoteChangeRecord {
  /** `undone`: made and taken back. `open`: being made, or its process ended in the middle. */
  state: ChangeOutcome | "undone" | "open";
}

export interface ChangeLog {
  readonly changes: readonly LoggedChange[];
  write(change: NoteChangeRecord): Promise<void>;
  end(id: string, outcome: ChangeOutcome): Promise<void>;
}

interface LogPlace {
  workspaceDir: string;
  stateDir: string;
  signal?: AbortSignal | undefined;
}

export function newChangeId(): string {
  return randomBytes(4).toString("hex");
}

/** Runs a step with the log of a workspace locked. Throws `BUSY` after 10 s, `UNAVAILABLE` without state folder. */
export async function withLog<T>(place: LogPlace, run: (log: ChangeLog) => Promise<T>): Promise<T> {
  const { stateDir, signal } = place;
  const workspaceDir = await realpath(place.workspaceDir).catch(() => path.resolve(place.workspaceDir));
  const key = hashOf(workspaceDir).slice(0, 32);
  const file = path.join(stateDir, "changes", `${key}.jsonl`);
  const locks = path.join(stateDir, "locks");
  const using = <R>(step: () => Promise<R>): Promise<R> =>
    orUnavailable(step, (why) => {
      return `the log of changes ${file} cannot be used: ${why}; nothing was changed. Check the state folder and the space on its disk`;
    });
  await using(async () => {
    for (const folder of [locks, path.dirname(file)]) await mkdir(folder, { recursive: true, mode: 0o700 });
  });
  const options = { waitMs: 10_000, busy: busyFor("the log of changes has been", 10), signal };
  return await withStateLock(path.join(locks, `changes-${key}.lock`), options, async () => {
    const changes = await using(() => readLog(file));
    return await run({
      changes,
      write: (change) => using(() => appendLine(file, { change })),
      end: (id, outcome) => using(() => appendLine(file, { id, outcome })),
    });
  });
}

async function appendLine(file: string, line: LogLine): Promise<void> {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;
  await closing(await open(file, flags, 0o600), async (handle) => {
    const { size } = await handle.stat();
    const last = Buffer.alloc(1);
    if (size > 0) await handle.read(last, 0, 1, size - 1);
    // Half a line that a killed process left stays a line of its own, which readers skip.
    const begin = size > 0 && last[0] !== 10 ? "\n" : "";
    await appendWhole(handle, Buffer.from(`${begin}${JSON.stringify(line)}\n`));
    if (size === 0) await syncFolder(path.dirname(file));
  });
}

interface LogLine {
  change?: NoteChangeRecord;
  id?: string;
  outcome?: ChangeOutcome;
}

interface KnownLog {
  readonly file: bigint;
  readonly bytes: number;
  /** The bytes before that place: others if a user has edited the log. */
  readonly tail: Buffer;
  /** Without `undone`, which follows from later entries. */
  readonly changes: Map<string, LoggedChange>;
}

const tailBytes = 256;
const keptLogs = 8;
/** A log only grows, so that a process with many changes does not read all of it each time. */
const known = new Map<string, KnownLog>();

async function readLog(file: string): Promise<LoggedChange[]> {
  const opened = await open(file, constants.O_RDONLY).catch(unlessMissing);
  if (opened === undefined) return [];
  return await closing(opened, async (handle) => {
    const log = await resumed(handle, known.get(file));
    known.delete(file);
    known.set(file, log);
    for (const oldest of known.keys()) if (known.size > keptLogs) known.delete(oldest);
    return withUndone(log.changes);
  });
}

async function resumed(handle: FileHandle, before: KnownLog | undefined): Promise<KnownLog> {
  const stats = await handle.stat({ bigint: true });
  const isSame =
    before?.file === stats.ino &&
    before.bytes <= stats.size &&
    (await readWhole(handle, before.tail.length, before.bytes - before.tail.length)).equals(before.tail);
  const from = isSame ? before.bytes : 0;
  const changes = isSame ? before.changes : new Map<string, LoggedChange>();
  const added = await readWhole(handle, Number(stats.size) - from, from);
  // Half a line is read again: its writer may complete it.
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

function withUndone(entries: ReadonlyMap<string, LoggedChange>): LoggedChange[] {
  const changes = new Map([...entries].map(([id, change]) => [id, { ...change }]));
  for (const { state, undoes } of [...changes.values()].toReversed()) {
    const undone = undoes === undefined || state !== "done" ? undefined : changes.get(undoes);
    if (undone?.state === "done") undone.state = "undone";
  }
  return [...changes.values()];
}

/** Half a line counts for nothing: the log is on disk before the note is touched. */
function parsed(line: string): LogLine {
  try {
    return (JSON.parse(line) as LogLine | null) ?? {};
  } catch {
    return {};
  }
}
