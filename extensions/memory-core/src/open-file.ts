import Database from "better-sqlite3";
import { Damage, Foreign } from "./file-faults.ts";
import { laterVersion } from "./inspect-file.ts";
import { type Meta, metaKeys, openMeta } from "./meta.ts";
import type { OpenOptions } from "./protocol.ts";
import { applicationId, createTables, createWordIndex, hasFts, hasTable, schemaVersion, setPragmas } from "./schema.ts";
import { isBusy, isCorrupt, isSqliteError } from "./store-errors.ts";
import { reasonOf } from "./store-failure.ts";
import { beginWrite } from "./transactions.ts";
import { upgradeFromFirst } from "./upgrade.ts";
import { deadWriters } from "./writers.ts";

/** A connection to a database with all tables in it. */
export interface OpenFile {
  db: Database.Database;
  meta: Meta;
  /** Why words cannot be indexed; undefined where they can. */
  ftsError: string | undefined;
}

/** What is asked of each table; fails when the table or a column is missing. */
const probes = [
  "SELECT id, path, source, hash, mtime, size, recipe FROM files",
  "SELECT id, file_id, start_line, end_line, context, text, hash FROM chunks",
  "SELECT id, provider, model, provider_key, dims, written_at FROM spaces",
  "SELECT hash, space_id, used_at, vector_id FROM embedding_cache",
  "SELECT id, embedding FROM vectors",
  "SELECT hash, space_id, reason FROM quarantine",
];
const walPauseMs = 25;

/** Opens the file, which is there and ours or empty. Throws `Foreign`, `Damage`, or what SQLite throws. */
export function openFile({ path, busyTimeoutMs, disableFts }: OpenOptions): OpenFile {
  const db = new Database(path, { timeout: busyTimeoutMs });
  try {
    setPragmas(db);
    const withWords = !disableFts && hasFts(db);
    checkOwner(db);
    if (numberOf(db, "user_version") < schemaVersion) makeTables(db, withWords);
    useWal(db, busyTimeoutMs);
    // Shows now, not in the middle of a sync, that the file cannot be locked for writing.
    beginWrite(db, 1);
    db.exec("ROLLBACK");
    const meta = openMeta(db);
    checkContent(db, meta);
    return { db, meta, ftsError: settleWords(db, meta, withWords) };
  } catch (error) {
    db.close();
    // It is ours, of this schema, and still does not understand the simplest question.
    throw isSqliteError(error, "SQLITE_ERROR") ? new Damage(reasonOf(error)) : error;
  }
}

/** Opens a database that ends with the process. */
export function openInMemory({ disableFts }: OpenOptions): OpenFile {
  const db = new Database(":memory:");
  setPragmas(db);
  const withWords = !disableFts && hasFts(db);
  createTables(db, withWords);
  const meta = openMeta(db);
  return { db, meta, ftsError: settleWords(db, meta, withWords) };
}

/** The header that was looked at may be older than the log beside it, or another process may have put a file there. */
function checkOwner(db: Database.Database): void {
  // In one snapshot: another process may be making the tables between one question and the next.
  const read = db.transaction(() => ({
    anything: db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get(),
    owner: numberOf(db, "application_id"),
    version: numberOf(db, "user_version"),
  }));
  const { anything, owner, version } = read.deferred();
  if (owner !== applicationId && anything !== undefined)
    throw new Foreign("it is a SQLite database of another program");
  if (version > schemaVersion) throw new Foreign(laterVersion(version));
}

function makeTables(db: Database.Database, withWords: boolean): void {
  write(db, () => {
    // Another process may have made them while this one waited for the lock.
    const version = numberOf(db, "user_version");
    if (version >= schemaVersion) return;
    if (version === 1) {
      upgradeFromFirst(db);
      db.pragma(`user_version = ${schemaVersion}`);
    } else {
      dropTables(db);
      createTables(db, withWords);
    }
  });
}

/** Of a schema before the first, virtual tables first, because they drop their own. */
function dropTables(db: Database.Database): void {
  const names = db
    .prepare<[], string>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
       ORDER BY sql LIKE 'CREATE VIRTUAL%' DESC`,
    )
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
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, walPauseMs);
    }
  }
}

/** Throws when the database cannot be relied on. Looks at every page only after a process died while it was writing. */
function checkContent(db: Database.Database, meta: Meta): void {
  for (const probe of probes) db.prepare(`${probe} LIMIT 1`).get();
  const damage = meta.get(metaKeys.damaged);
  if (damage !== undefined) throw new Damage(damage);
  const dead = deadWriters(meta);
  if (dead.length === 0) return;
  const finding = db.prepare<[], string>("PRAGMA quick_check(1)").pluck().get();
  if (finding !== "ok") throw new Damage(finding ?? "quick_check gave no answer");
  write(db, () => {
    for (const key of dead) meta.delete(key);
  });
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
  write(db, () => {
    db.exec(`DROP TABLE IF EXISTS chunks_fts; ${createWordIndex}; DELETE FROM chunks; DELETE FROM files`);
    meta.delete(metaKeys.wordsStale);
    meta.delete(metaKeys.vectorSpace);
  });
  return undefined;
}

function write(db: Database.Database, work: () => void): void {
  beginWrite(db, 1);
  try {
    work();
    db.exec("COMMIT");
  } catch (error) {
    if (db.inTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

function numberOf(db: Database.Database, pragma: "application_id" | "user_version"): number {
  return Number(db.pragma(pragma, { simple: true }));
}
