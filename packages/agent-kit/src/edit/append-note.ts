import { isUtf8 } from "node:buffer";
import { constants } from "node:fs";
import { type FileHandle, readdir } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MemoryError, messageOf } from "@memslot/core";
import { type ConfinedFolder, MovedError, syncFolder, unlessMissing } from "@memslot/core/files";
import { formatCitation } from "../citations.ts";
import { invalid } from "../state-locks.ts";
import { waitForExchange } from "./temporary-files.ts";
import { localTime } from "./local-day.ts";
import { findSame, findWritten, noteEntry } from "./note-entry.ts";
import { cannotWrite, failureOf, openWay, throwIfAborted } from "./note-folder.ts";
import type { NotePath } from "./note-types.ts";
import { noteProblem } from "./validate-note.ts";
import { appendWhole, readWhole, unlessThere } from "./safe-writes.ts";

/** `daily` goes to the log of the day, `longterm` to the curated file. */
export type NoteKind = "daily" | "longterm";

export interface AppendNoteOptions {
  workspaceDir: string;
  /** At most 8,000 characters. */
  text: string;
  kind: NoteKind;
  /** At most 8, of letters, digits, `-` and `_`. */
  tags?: readonly string[] | undefined;
  at: Date;
  /** The user's, as an IANA name. */
  timeZone: string;
  /** Aborts a call that has not begun to write. */
  signal?: AbortSignal | undefined;
}

export interface AppendedNote {
  /** `duplicate`: the file has this entry already, and nothing was written. */
  state: "appended" | "duplicate";
  path: string;
  startLine: number;
  endLine: number;
  citation: string;
  day: string;
}

/** Characters of the curated file: a session starts with it, and would cut the rest. */
export const curatedBudget = 20_000;

const maxWrites = 4;

/**
 * Appends an entry to the notes of a workspace, on disk when it resolves. Returns `duplicate` if the file has the same
 * text and tags. Throws `INVALID_ARGUMENT`, `WORKSPACE`, and an `AbortError` before anything was written.
 */
export async function appendNote(options: AppendNoteOptions): Promise<AppendedNote> {
  const { text, tags = [], kind, timeZone, signal } = options;
  const problem = noteProblem({ text, tags });
  if (problem !== undefined) throw invalid(problem.error);
  const { day, time } = localTime(options.at, timeZone);
  const lines = noteEntry({ stamp: kind === "daily" ? time : day, text, tags });
  const workspaceDir = path.resolve(options.workspaceDir);
  return await inTurn(`${kind === "daily" ? day : kind}\n${workspaceDir}`, async () => {
    throwIfAborted(signal);
    const relPath = await noteName({ workspaceDir, kind, day });
    const heading = kind === "daily" ? `# ${day}\n\n` : "";
    const { state, startLine, endLine } = await appendEntry({ workspaceDir, relPath, heading, signal }, lines, kind);
    const place = { path: relPath, startLine, endLine };
    return { state, ...place, citation: formatCitation(place), day };
  });
}

/** The file of a note, relative to the workspace. Throws `WORKSPACE` as `curatedName` does. */
export async function noteName(note: { workspaceDir: string; kind: NoteKind; day: string }): Promise<string> {
  return note.kind === "daily" ? `memory/${note.day}.md` : await curatedName(note.workspaceDir);
}

async function appendEntry(
  target: NoteTarget,
  lines: readonly string[],
  kind: NoteKind,
): Promise<Pick<AppendedNote, "state" | "startLine" | "endLine">> {
  for (let writes = 0; ; writes++) {
    const note = await openNote(target);
    try {
      const own = writes === 0 ? undefined : findWritten(note.text, lines);
      if (own !== undefined) return { state: "appended", ...own };
      const same = findSame(note.text.split("\n"), lines);
      if (same !== undefined) return { state: writes === 0 ? "duplicate" : "appended", ...same };
      if (writes === maxWrites) throw cannotWrite(target, "other programs replace the file again and again");
      const length = note.text.length + lines.join("\n").length + 1;
      if (kind === "longterm" && length > curatedBudget)
        throw invalid(
          `${target.relPath} would have ${length} characters, more than the ${curatedBudget} that a session starts with: write this note with kind "daily", or ask the user to tidy ${target.relPath}`,
        );
      if (writes === 0) throwIfAborted(target.signal);
      await note.append(lines);
    } finally {
      await note.close();
    }
  }
}

// Module-level: a tool and a flush that write the same file would both miss that the other writes the same entry.
const turns = new Map<string, Promise<unknown>>();

async function inTurn<Result>(key: string, run: () => Promise<Result>): Promise<Result> {
  const own = (turns.get(key) ?? Promise.resolve()).then(run);
  const settled = own.catch(() => undefined);
  turns.set(key, settled);
  try {
    return await own;
  } finally {
    if (turns.get(key) === settled) turns.delete(key);
  }
}

/** `MEMORY.md`, or `memory.md` if only that exists. Throws `WORKSPACE` if the folder cannot be read. */
export async function curatedName(workspaceDir: string): Promise<string> {
  const names = await readdir(path.resolve(workspaceDir)).catch((cause: unknown) => {
    const message = `cannot read the workspace ${workspaceDir} (${messageOf(cause)}): check that the folder exists`;
    throw new MemoryError("WORKSPACE", message, { cause });
  });
  return !names.includes("MEMORY.md") && names.includes("memory.md") ? "memory.md" : "MEMORY.md";
}

interface NoteTarget extends NotePath {
  heading: string;
  signal?: AbortSignal | undefined;
}

interface OpenNote {
  /** With LF line ends, without a byte order mark. */
  readonly text: string;
  /** One write at the end of the file, on disk when it resolves. */
  append(lines: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

const maxBytes = 32_000_000;

/** How long another process may take between creating a file and writing to it. */
const creationMs = 2_000;

/** Opens a note for appending; creates the file and its folders if they are missing. Throws `WORKSPACE`. */
export async function openNote(target: NoteTarget): Promise<OpenNote> {
  let folder: ConfinedFolder | undefined;
  let handle: FileHandle | undefined;
  try {
    folder = await openWay(target);
    const name = path.posix.basename(target.relPath);
    const opened = await openOrMake(folder, name);
    handle = opened.handle;
    if (!folder.holds(handle, name)) throw new MovedError(target.relPath);
    const bytes = opened.isNew ? Buffer.alloc(0) : await readBytes(target, handle);
    return openedNote(target, { folder: folder.path, handle, bytes, isNew: opened.isNew });
  } catch (error) {
    await handle?.close();
    throw await failureOf(target, error);
  } finally {
    await folder?.close();
  }
}

function openedNote(
  target: NoteTarget,
  { folder, handle, bytes, isNew }: { folder: string; handle: FileHandle; bytes: Buffer; isNew: boolean },
): OpenNote {
  const given = bytes.toString("utf8");
  const lineEnd = /\r?\n/.exec(given)?.[0] ?? "\n";
  const text = given.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  return {
    text,
    append: async (lines) => {
      const start = text === "" ? target.heading : text.endsWith("\n") ? "" : "\n";
      const entry = Buffer.from(`${start}${lines.join("\n")}\n`.replaceAll("\n", lineEnd));
      try {
        await appendWhole(handle, entry);
        if (isNew) await syncFolder(folder);
        // The next read has to show the result of this append.
        const stats = await handle.stat({ bigint: true });
        await waitForExchange(path.join(folder, path.posix.basename(target.relPath)), stats);
      } catch (error) {
        throw await failureOf(target, error);
      }
    },
    close: () => handle.close(),
  };
}

async function openOrMake(folder: ConfinedFolder, name: string): Promise<{ handle: FileHandle; isNew: boolean }> {
  const flags = constants.O_RDWR | constants.O_APPEND;
  const existing = await folder.open(name, flags).catch(unlessMissing);
  if (existing !== undefined) return { handle: existing, isNew: false };
  const made = await unlessThere(folder.open(name, flags | constants.O_CREAT | constants.O_EXCL, 0o666));
  if (made !== undefined) return { handle: made, isNew: true };
  return { handle: await folder.open(name, flags), isNew: false };
}

async function readBytes(target: NoteTarget, handle: FileHandle): Promise<Buffer> {
  const waitUntilMs = performance.now() + creationMs;
  for (;;) {
    const found = await handle.stat();
    if (!found.isFile()) throw cannotWrite(target, `${target.relPath} is not a file: move it away`);
    const { size, mtimeMs } = found;
    if (size > maxBytes)
      throw cannotWrite(target, `it is larger than ${maxBytes / 1_000_000} MB: move it away, and a new one is begun`);
    const bytes = await readWhole(handle, size);
    // Another process has just created the file and is about to write the heading, which belongs at the top.
    const justMade = size === 0 && target.heading !== "" && Date.now() - mtimeMs < creationMs;
    if (justMade && performance.now() < waitUntilMs) {
      await sleep(5, undefined, { signal: target.signal });
      continue;
    }
    if (!isUtf8(bytes) || bytes.includes(0))
      throw cannotWrite(target, "it is not UTF-8 text, and an appended text would be unreadable: save it as UTF-8");
    return bytes;
  }
}
