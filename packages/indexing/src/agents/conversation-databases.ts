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
import type { Finder } from "../sources/conversation-finder.ts";
import { numbered, type NumberedRecords, type TranscriptRecord, unknownSize } from "../sources/transcript-lines.ts";

const waitMs = 1_000;
/** How long a copy is reused. */
const copyMs = 5_000;
const copyAttempts = 3;

/** A conversation in a database. */
export interface StoredConversation {
  readonly name: string;
  readonly mtimeMs: number;
  /** Changes with the conversation. */
  readonly stamp: string;
  readonly folder?: string | undefined;
  read(db: Database): Iterable<TranscriptRecord>;
}

/** Adds the conversations that `find` returns. */
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

/** Copies of databases that cannot be opened in place. */
const copies = new Map<string, Copy>();
const findings = new Map<string, { readonly state: string; readonly found: unknown }>();

/** Runs `run` on the database of another program without changing it; copies it if opening would create files. */
async function withDatabase<T>(file: string, run: (db: Database) => T): Promise<T> {
  // Loaded late: most sessions do not need it.
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

/** The result of `run`, cached while the database is unchanged; undefined if it does not exist. One `run` per file. */
export async function findInDatabase<T>(file: string, run: (db: Database) => T): Promise<T | undefined> {
  const state = stateOfDatabase(file);
  if (state === undefined) return undefined;
  const before = findings.get(file);
  if (before?.state === state) return before.found as T;
  const found = await withDatabase(file, run);
  findings.set(file, { state, found });
  return found;
}

/** Identifies the state of a database with its log; undefined if it does not exist. */
function stateOfDatabase(file: string): string | undefined {
  const states = [file, `${file}-wal`].map((each) => {
    const stats = statSync(each, { bigint: true, throwIfNoEntry: false });
    return stats && stampOf(stats);
  });
  return states[0] === undefined ? undefined : states.join(" ");
}

function leavesTraces(file: string): boolean {
  // Opening a pipe could block forever.
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

/** A copy, deleted from the disk while it is open, so that it never stays; on Windows when it is closed. */
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
    // Opens the header and the log, so that both can be deleted.
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
