import { createHash, randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, realpath } from "node:fs/promises";
import path from "node:path";
import { syncFolder } from "@memslot/core/files";
import { appendWhole } from "../notes/append-whole.ts";
import { orUnavailable } from "../session/or-unavailable.ts";
import { withStateLock } from "../session/state-lock.ts";
import type { LineChange } from "./changed-lines.ts";
import { readLog } from "./read-log.ts";

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
  const key = createHash("sha256").update(place).digest("hex").slice(0, 32);
  return { file: path.join(stateDir, "changes", `${key}.jsonl`), key };
}

async function appendLine(file: string, line: string): Promise<void> {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;
  const handle = await open(file, flags, 0o600);
  try {
    const { size } = await handle.stat();
    const last = Buffer.alloc(1);
    if (size > 0) await handle.read(last, 0, 1, size - 1);
    // What a killed process has left of a line stays a line of its own, which is passed over.
    const begin = size > 0 && last[0] !== 10 ? "\n" : "";
    await appendWhole(handle, Buffer.from(`${begin}${line}\n`));
    if (size === 0) await syncFolder(path.dirname(file));
  } finally {
    await handle.close();
  }
}

function telling<T>(file: string, run: () => Promise<T>): Promise<T> {
  return orUnavailable(run, (why) => {
    return `the log of changes ${file} cannot be used: ${why}; nothing was changed. Check the state folder and the room on its disk`;
  });
}
