import { accessSync, closeSync, constants, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { reasonOf } from "./store-failure.ts";
import Database from "better-sqlite3";
import { inspectFile, laterVersion } from "./inspect-file.ts";
import { type Meta, metaKeys, openMeta } from "./meta.ts";
import type { OpenOptions } from "./protocol.ts";
import {
  applicationId,
  createTables,
  createWordIndex,
  hasFts,
  hasTable,
  schemaVersion,
  setPragmas,
} from "./schema.ts";
import { fileIdentity, setAside } from "./set-aside.ts";
import { isBusy, isCorrupt, isSqliteError } from "./store-errors.ts";
import { beginWrite } from "./transactions.ts";
import { deadWriters } from "./writers.ts";

export interface OpenDatabase {
  db: Database.Database;
  meta: Meta;
  /** The path of the file, or `:memory:`. */
  location: string;
  /** `device:inode` of the file. */
  identity: string | undefined;
  /** Why words cannot be indexed; undefined where they can. */
  ftsError: string | undefined;
  notices: string[];
}

const inMemory = ":memory:";
/** A damaged file is made anew once; if that is damaged too, it is the disk. */
const attempts = 3;

/**
 * Opens the index at a path. There is always an index at the end: a damaged file is set aside and made anew, and where
 * no file can be used the index is kept in memory, with one notice that says why and what to do. Everything in it
 * comes from the notes, so that both cost time and lose nothing.
 */
export function openDatabase(options: OpenOptions): OpenDatabase {
  const notices: string[] = [];
  for (let attempt = 1; ; attempt++) {
    let identity: string | undefined;
    try {
      identity = prepareFile(options);
      return { ...openFile(options), identity: fileIdentity(options.path), notices };
    } catch (error) {
      if (attempt < attempts && (error instanceof Damage || isCorrupt(error))) {
        const repaired = repair(options.path, identity, reasonOf(error));
        if (repaired.notice) notices.push(repaired.notice);
        if (repaired.ok) continue;
      } else if (error instanceof Foreign) {
        notices.push(memoryNotice(options.path, `is not used: ${error.message}`));
      } else if (isBusy(error)) {
        notices.push(memoryNotice(options.path, "is locked by another process", "end that process"));
      } else if (isSqliteError(error) || isFileSystemError(error)) {
        notices.push(memoryNotice(options.path, `cannot be used (${reasonOf(error)})`, "make it writable"));
      } else {
        // No database at all: the library itself does not load.
        throw error;
      }
      return { ...openInMemory(options), identity: undefined, notices };
    }
  }
}

class Foreign extends Error {}
class Damage extends Error {}

/** Looks at the file before SQLite does, and makes an empty one where there is none. Gives its identity. */
function prepareFile({ path, openFiles }: OpenOptions): string | undefined {
  const identity = fileIdentity(path);
  if (identity !== undefined && openFiles.includes(identity)) return identity;
  const finding = inspectFile(path);
  if (finding.kind === "foreign") throw new Foreign(finding.reason);
  if (finding.kind === "damaged") throw new Damage(finding.reason);
  const folder = dirname(path);
  if (identity === undefined) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // SQLite gives the files beside it the mode of this one.
    closeSync(openSync(path, "a", 0o600));
  }
  accessSync(path, constants.R_OK | constants.W_OK);
  accessSync(folder, constants.W_OK);
  return fileIdentity(path);
}

function openFile(options: OpenOptions): Omit<OpenDatabase, "identity" | "notices"> {
  const db = new Database(options.path, { timeout: options.busyTimeoutMs });
  try {
    setPragmas(db);
    const withWords = !options.disableFts && hasFts(db);
    checkOwner(db);
    if (numberOf(db, "user_version") < schemaVersion) makeTables(db, withWords);
    useWal(db, options.busyTimeoutMs);
    // Shows now, not in the middle of a sync, that the file cannot be locked for writing.
    beginWrite(db, 1);
    db.exec("ROLLBACK");
    const meta = openMeta(db);
    checkContent(db, meta);
    return { db, meta, location: options.path, ftsError: settleWords(db, meta, withWords) };
  } catch (error) {
    db.close();
    throw error;
  }
}

function openInMemory(options: OpenOptions): Omit<OpenDatabase, "identity" | "notices"> {
  const db = new Database(inMemory);
  setPragmas(db);
  const withWords = !options.disableFts && hasFts(db);
  createTables(db, withWords);
  const meta = openMeta(db);
  return { db, meta, location: inMemory, ftsError: settleWords(db, meta, withWords) };
}

/** The header that was looked at may be older than the log beside it, or another process may have put a file there. */
function checkOwner(db: Database.Database): void {
  if (numberOf(db, "application_id") !== applicationId) {
    const tables = db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get();
    if (tables !== undefined) throw new Foreign("it is a SQLite database of another program");
  }
  const version = numberOf(db, "user_version");
  if (version > schemaVersion) throw new Foreign(laterVersion(version));
}

function makeTables(db: Database.Database, withWords: boolean): void {
  beginWrite(db, 1);
  try {
    // Another process may have made them while this one waited for the lock.
    if (numberOf(db, "user_version") < schemaVersion) {
      dropTables(db);
      createTables(db, withWords);
    }
    db.exec("COMMIT");
  } catch (error) {
    if (db.inTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** Of an earlier schema, virtual tables first, because they drop their own. */
function dropTables(db: Database.Database): void {
  const names = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY sql LIKE 'CREATE VIRTUAL%' DESC")
    .pluck()
    .all();
  try {
    for (const name of names) db.exec(`DROP TABLE IF EXISTS "${name.replaceAll('"', '""')}"`);
  } catch (error) {
    if (isCorrupt(error)) throw error;
    throw new Damage(`its tables are of an earlier release and cannot be dropped: ${reasonOf(error)}`);
  }
}

/** Needs the file to itself for a moment, and SQLite does not always wait for that. */
function useWal(db: Database.Database, waitMs: number): void {
  const until = Date.now() + waitMs;
  for (;;) {
    try {
      db.pragma("journal_mode = WAL");
      return;
    } catch (error) {
      if (!isBusy(error) || Date.now() > until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 25);
    }
  }
}

/** Throws when the database cannot be relied on. Looks at every page only after a process died while it was writing. */
function checkContent(db: Database.Database, meta: Meta): void {
  for (const table of ["files", "chunks", "embedding_cache"]) {
    if (!hasTable(db, table)) throw new Damage(`the table ${table} is missing`);
  }
  const damage = meta.get(metaKeys.damaged);
  if (damage !== undefined) throw new Damage(damage);
  const dead = deadWriters(meta);
  if (dead.length === 0) return;
  const finding = db.prepare<[], string>("PRAGMA quick_check(1)").pluck().get();
  if (finding !== "ok") throw new Damage(finding ?? "quick_check gave no answer");
  beginWrite(db, 1);
  for (const key of dead) meta.delete(key);
  db.exec("COMMIT");
}

/**
 * Makes the table of words fit the chunks. Words are not kept anywhere else, so where they are missing the files are
 * forgotten and the next sync reads them again; their vectors stay.
 */
function settleWords(db: Database.Database, meta: Meta, withWords: boolean): string | undefined {
  if (!withWords) return "this build of SQLite has no FTS5";
  if (hasTable(db, "chunks_fts") && meta.get(metaKeys.wordsStale) === undefined) {
    db.prepare("SELECT rowid FROM chunks_fts LIMIT 1").get();
    return undefined;
  }
  beginWrite(db, 1);
  db.exec(`DROP TABLE IF EXISTS chunks_fts; ${createWordIndex}; DELETE FROM chunks; DELETE FROM files`);
  meta.delete(metaKeys.wordsStale);
  meta.delete(metaKeys.vectorSpace);
  db.exec("COMMIT");
  return undefined;
}

function repair(path: string, identity: string | undefined, reason: string): { ok: boolean; notice?: string } {
  try {
    const aside = setAside(path, identity ?? fileIdentity(path));
    if (aside === undefined) return { ok: true };
    return {
      ok: true,
      notice: `the index ${path} was damaged (${reason}) and is made anew from the notes; the damaged file is kept as ${aside} and can be deleted`,
    };
  } catch (error) {
    return { ok: false, notice: memoryNotice(path, `is damaged (${reason}) and cannot be renamed (${reasonOf(error)})`, "delete it") };
  }
}

function memoryNotice(path: string, state: string, remedy?: string): string {
  const otherFile = "set store.path to another file";
  return `the index ${path} ${state}; it is left as it is, and the index is kept in memory until this process ends, which reads all notes again at every start: ${remedy ? `${remedy}, or ${otherFile}` : otherFile}`;
}

function numberOf(db: Database.Database, pragma: "application_id" | "user_version"): number {
  return Number(db.pragma(pragma, { simple: true }));
}

function isFileSystemError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}
