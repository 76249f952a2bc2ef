import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Database } from "better-sqlite3";
import { messageOf } from "@memslot/core";
import { stampOf } from "../scan/file-state.ts";
import type { Finder } from "../sources/finder.ts";
import { numbered, type NumberedRecords, type TranscriptRecord, unknownSize } from "../sources/lines.ts";

/** How long it waits for a program that is writing. */
const waitMs = 1_000;
/** How long a copy is kept for the next question. */
const copyMs = 5_000;
const copyAttempts = 3;

/** A conversation in a database. */
export interface StoredConversation {
  /** Its name in the index. */
  readonly name: string;
  readonly mtimeMs: number;
  /** Changes with the conversation. */
  readonly stamp: string;
  readonly folder?: string | undefined;
  /** What was said in it, in order. */
  read(db: Database): Iterable<TranscriptRecord>;
}

/**
 * Takes the conversations that `find` finds in a database. A failure is reported by the name of the database. `folderOf`:
 * where a conversation was had, if the database does not say.
 */
export async function takeConversations(
  finder: Finder,
  file: string,
  find: (db: Database) => StoredConversation[],
  folderOf?: (name: string) => Promise<string | undefined>,
): Promise<void> {
  try {
    for (const { name, read, mtimeMs, stamp, folder } of (await findInDatabase(file, find)) ?? []) {
      const records = (signal: AbortSignal): NumberedRecords => recordsIn(file, read, signal);
      const place = { absolutePath: file, folder: folder ?? (await folderOf?.(name)), size: unknownSize };
      finder.add(name, { ...place, kind: "whole", mtimeMs, stamp, records });
    }
  } catch (error) {
    finder.missed(file, `cannot be read: ${messageOf(error)}`);
  }
}

async function* recordsIn(file: string, read: StoredConversation["read"], signal: AbortSignal): NumberedRecords {
  yield* numbered(await withDatabase(file, read), signal);
}

interface Copy {
  readonly state: string | undefined;
  readonly db: Database;
  readonly drop: () => void;
}

/** Of databases that cannot be opened where they are. */
const copies = new Map<string, Copy>();
/** What was found in databases, with the state that they were in. */
const findings = new Map<string, { readonly state: string; readonly found: unknown }>();

/**
 * Runs something with the database of a program, which may go on writing to it. Nothing is changed there, and nothing is
 * left beside it: with a log that nobody has open SQLite would make files, so that a copy is opened then. Throws as SQLite does.
 */
async function withDatabase<T>(file: string, run: (db: Database) => T): Promise<T> {
  // A session that has no such source does not load it.
  const { default: Sqlite } = await import("better-sqlite3");
  const open = (place: string): Database => new Sqlite(place, { readonly: true, fileMustExist: true, timeout: waitMs });
  if (!leavesTraces(file)) {
    const db = open(file);
    try {
      return run(db);
    } finally {
      db.close();
    }
  }
  const known = copies.get(file);
  if (known !== undefined && known.state === stateOfDatabase(file)) return run(known.db);
  known?.drop();
  const copy = copyOf(file, open);
  copies.set(file, copy);
  setTimeout(copy.drop, copyMs).unref();
  return run(copy.db);
}

/**
 * What `run` finds in a database, as long as it is the same: found again only where it has changed. Undefined where there is
 * none. `run` is the same for the same file.
 */
export async function findInDatabase<T>(file: string, run: (db: Database) => T): Promise<T | undefined> {
  const state = stateOfDatabase(file);
  if (state === undefined) return undefined;
  const before = findings.get(file);
  if (before?.state === state) return before.found as T;
  const found = await withDatabase(file, run);
  findings.set(file, { state, found });
  return found;
}

/** One text for the state of a database and of what was written to it last; undefined where there is none. */
function stateOfDatabase(file: string): string | undefined {
  const states = [file, `${file}-wal`].map((each) => {
    const stats = statSync(each, { bigint: true, throwIfNoEntry: false });
    return stats && stampOf(stats);
  });
  return states[0] === undefined ? undefined : states.join(" ");
}

/** Whether opening it would make files beside it: it has a log (the format says 2) that no program has open. */
function leavesTraces(file: string): boolean {
  // What is no file might keep whoever opens it waiting for ever.
  if (!statSync(file).isFile()) throw new Error("is not a file");
  const descriptor = openSync(file, constants.O_RDONLY);
  try {
    const format = Buffer.alloc(1);
    readSync(descriptor, format, 0, 1, 18);
    return format[0] === 2 && !(existsSync(`${file}-wal`) && existsSync(`${file}-shm`));
  } finally {
    closeSync(descriptor);
  }
}

/** A copy that is gone from the disk as soon as it is closed, however this process ends where the system can do that. */
function copyOf(file: string, open: (place: string) => Database): Copy {
  const folder = mkdtempSync(path.join(tmpdir(), "memslot-read-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 2 });
  try {
    const place = path.join(folder, "copy.db");
    let state: string | undefined;
    for (let attempt = 1; attempt === 1 || state !== stateOfDatabase(file); attempt++) {
      if (attempt > copyAttempts) throw new Error("it changes while it is copied");
      state = stateOfDatabase(file);
      for (const ending of ["", "-wal"])
        if (existsSync(file + ending)) copyFileSync(file + ending, place + ending, constants.COPYFILE_FICLONE);
    }
    const db = open(place);
    // Reads its header and its log: they are open from now on.
    db.pragma("schema_version");
    if (process.platform !== "win32") remove();
    let isDropped = false;
    const drop = (): void => {
      if (isDropped) return;
      isDropped = true;
      if (copies.get(file)?.db === db) copies.delete(file);
      db.close();
      remove();
    };
    return { state, db, drop };
  } catch (error) {
    remove();
    throw error;
  }
}
