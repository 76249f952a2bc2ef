import { readdir } from "node:fs/promises";
import path from "node:path";
import { MemoryError, messageOf } from "@memslot/core";
import { formatCitation } from "../citations.ts";
import { localTime } from "./local-day.ts";
import { type NoteEntry, findSame, findWritten, noteEntry } from "./note-entry.ts";
import { type NoteTarget, cannotWrite, openNote, throwIfAborted } from "./note-file.ts";
import { noteProblem } from "./note-text.ts";

/** `daily` goes to the log of the day, `longterm` to the curated file. */
export type NoteKind = "daily" | "longterm";

export interface AppendNoteOptions {
  workspaceDir: string;
  /** At most 8,000 characters. */
  text: string;
  kind: NoteKind;
  /** At most 8, of letters, digits, `-` and `_`. */
  tags?: readonly string[] | undefined;
  /** The moment of writing: with the time zone it gives the day and the stamp. */
  at: Date;
  /** The user's, as an IANA name. */
  timeZone: string;
  /** Stops what has not begun to write. */
  signal?: AbortSignal | undefined;
}

export interface AppendedNote {
  /** `duplicate`: the file says so already, and nothing was written. */
  state: "appended" | "duplicate";
  /** Relative to the workspace. */
  path: string;
  startLine: number;
  endLine: number;
  /** `path#Lfrom-Lto` of the entry. */
  citation: string;
  /** The user's day, as `YYYY-MM-DD`. */
  day: string;
}

/** Characters of the curated file: it is put before every session, and what comes after them would be cut there. */
export const curatedBudget = 20_000;

/** How often the file may be replaced by others between writing and looking. */
const maxWrites = 4;

/**
 * Appends an entry to the notes of a workspace, on disk when it resolves. What is in the file stays as it is: the entry
 * goes to the end with a single write. Says `duplicate` where the file holds the same text and tags.
 *
 * Throws `INVALID_ARGUMENT` for a text or tags that cannot become a note, for a curated file that is full, an unknown
 * time zone and an invalid date; `WORKSPACE` where the file cannot be written; and an `AbortError`, by which nothing was written.
 */
export async function appendNote(options: AppendNoteOptions): Promise<AppendedNote> {
  const { text, tags = [], kind, timeZone, signal } = options;
  const problem = noteProblem({ text, tags });
  if (problem !== undefined) throw new MemoryError("INVALID_ARGUMENT", problem.error);
  const { day, time } = localTime(options.at, timeZone);
  const entry = noteEntry({ stamp: kind === "daily" ? time : day, text, tags });
  const workspaceDir = path.resolve(options.workspaceDir);
  return await inTurn(`${kind === "daily" ? day : kind}\n${workspaceDir}`, async () => {
    throwIfAborted(signal);
    const relPath = await noteName({ workspaceDir, kind, day });
    const target: NoteTarget = { workspaceDir, relPath, heading: kind === "daily" ? `# ${day}\n\n` : "", signal };
    const { state, startLine, endLine } = await appendEntry(target, entry, kind);
    const place = { path: target.relPath, startLine, endLine };
    return { state, ...place, citation: formatCitation(place), day };
  });
}

/** The file that a note goes to, relative to the workspace. Throws `WORKSPACE` as `curatedName` does. */
export async function noteName(note: { workspaceDir: string; kind: NoteKind; day: string }): Promise<string> {
  return note.kind === "daily" ? `memory/${note.day}.md` : await curatedName(note.workspaceDir);
}

interface WrittenLines {
  state: AppendedNote["state"];
  startLine: number;
  endLine: number;
}

/** Writes, and looks whether it is there: an editor that saves at the same moment puts another file in its place. */
async function appendEntry(target: NoteTarget, entry: NoteEntry, kind: NoteKind): Promise<WrittenLines> {
  for (let writes = 0; ; writes++) {
    const note = await openNote(target);
    try {
      const own = writes === 0 ? undefined : findWritten(note.text, entry);
      if (own !== undefined) return { state: "appended", ...own };
      const same = findSame(note.text.split("\n"), entry);
      if (same !== undefined) return { state: writes === 0 ? "duplicate" : "appended", ...same };
      if (writes === maxWrites) throw cannotWrite(target, "other programs replace the file again and again");
      if (kind === "longterm") checkBudget(target, note.text, entry);
      if (writes === 0) throwIfAborted(target.signal);
      await note.append(entry.lines);
    } finally {
      await note.close();
    }
  }
}

function checkBudget({ relPath }: NoteTarget, text: string, { lines }: NoteEntry): void {
  const length = text.length + lines.join("\n").length + 1;
  if (length <= curatedBudget) return;
  throw new MemoryError(
    "INVALID_ARGUMENT",
    `${relPath} would have ${length} characters, more than the ${curatedBudget} that a session starts with: write this note with kind "daily", or ask the user to tidy ${relPath}`,
  );
}

// Module-level, as callers that write the same file (a tool, a flush) do not know of each other. Two at a time could
// both miss that the other writes the same.
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

/** `MEMORY.md`, or `memory.md` where only that is there. Throws `WORKSPACE` when the folder cannot be read. */
export async function curatedName(workspaceDir: string): Promise<string> {
  let names: string[];
  try {
    names = await readdir(path.resolve(workspaceDir));
  } catch (error) {
    throw new MemoryError(
      "WORKSPACE",
      `cannot read the workspace ${workspaceDir} (${messageOf(error)}): check that the folder is there`,
      { cause: error },
    );
  }
  return !names.includes("MEMORY.md") && names.includes("memory.md") ? "memory.md" : "MEMORY.md";
}
