import { createHash, randomUUID } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, realpathSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { WriterStatus } from "@memslot/core";
import { isRunning, processMark } from "@memslot/core/process-mark";
import Database from "better-sqlite3";
import { type Meta, metaKeys } from "./file/meta.ts";
import { fileIdentity } from "./file/set-aside-damaged-file.ts";
import { isBusy } from "./file/store-errors.ts";
import type { LeaseCalls, LeaseName } from "./ledger.ts";
import { jsonOf } from "../json-values.ts";

/** Owner and progress of each lease, for other processes to read. */
export interface LeaseRows {
  get(key: string): string | undefined;
  set(key: string, value: string | undefined): void;
}

/**
 * The lock alone decides who owns a lease; the row only reports progress. Without a lock file (in-memory index, no lock
 * folder, read-only folder) every process gets the lease: duplicated work is better than none.
 */
export function createLeases(input: {
  /** Undefined if the index is in memory. Asked each time: the index may have found a new place. */
  indexPath: () => string | undefined;
  locksDir: string | undefined;
  rows: LeaseRows;
  /** Absent: no other store has leases on the file. */
  store?: string | undefined;
}): LeaseCalls & { close(): void } {
  const { indexPath, locksDir, rows, store } = input;
  const held = new Map<LeaseName, { lock: Database.Database | undefined; status: WriterStatus }>();
  const ownName = (name: LeaseName): string => (store === undefined ? name : `${store}.${name}`);
  const rowOf = (name: LeaseName): string => `${metaKeys.lease}${ownName(name)}`;

  /** Asks the lock file; undefined if there can be none. */
  function ask<Answer>(name: LeaseName, question: (path: string) => Answer): Answer | undefined {
    try {
      const path = indexPath();
      if (path === undefined || locksDir === undefined) return undefined;
      const key = createHash("sha256").update(realpathSync.native(path)).digest("hex").slice(0, 32);
      return question(join(locksDir, `${key}.${ownName(name)}.lock`));
    } catch {
      return undefined;
    }
  }

  /** If the row cannot be written, the work itself fails next with the file's name. */
  function write(name: LeaseName, status: WriterStatus | undefined): void {
    try {
      rows.set(rowOf(name), status && JSON.stringify(status));
    } catch {
      // The lock alone decides.
    }
  }

  function release(name: LeaseName): void {
    const lease = held.get(name);
    if (!lease) return;
    held.delete(name);
    // While the lock still keeps the next owner from writing its own.
    write(name, undefined);
    lease.lock?.close();
  }

  return {
    acquire(name, reason) {
      if (held.has(name)) return true;
      const lock = ask(name, takeLock);
      if (lock === "taken") return false;
      const status = { pid: process.pid, host: hostname(), reason, since: new Date().toISOString() };
      held.set(name, { lock, status });
      write(name, status);
      return true;
    },
    release,
    report({ completed, total, label }) {
      const lease = held.get("build");
      if (lease) write("build", (lease.status = { ...lease.status, completed, total, label }));
    },
    holder(name) {
      const own = held.get(name);
      if (own) return own.status;
      const row = parseRow(rows.get(rowOf(name)));
      return row && ask(name, isTaken) ? row : undefined;
    },
    close() {
      for (const name of held.keys()) release(name);
    },
  };
}

function parseRow(text: string | undefined): WriterStatus | undefined {
  const row = jsonOf(text) as WriterStatus | null | undefined;
  return typeof row?.pid === "number" && typeof row.reason === "string" ? row : undefined;
}

/** A check whether a lock is free holds it briefly. */
const attempts = 5;
const pauseMs = 2;

/**
 * Takes the lock, which ends with the connection. Throws errors of the file system or SQLite. An exclusive SQLite
 * transaction on an empty database locks on every system and between threads.
 */
function takeLock(path: string): Database.Database | "taken" {
  mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const before = fileIdentity(path);
    const db = new Database(path, { timeout: 0 });
    try {
      if (before === undefined) chmodSync(path, 0o600);
      // Avoids a journal for the first page of an empty database.
      db.pragma("journal_mode = MEMORY");
      db.exec("BEGIN EXCLUSIVE");
      // Otherwise the file changed between check and open; try again.
      if (before !== undefined && fileIdentity(path) === before) return db;
      db.close();
    } catch (error) {
      db.close();
      if (!isBusy(error)) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
  }
  return "taken";
}

function isTaken(path: string): boolean {
  if (!existsSync(path)) return false;
  const db = new Database(path, { readonly: true, timeout: 0 });
  try {
    db.prepare("SELECT 1 FROM sqlite_schema").get();
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    db.close();
  }
}

/** Records processes that wrote without closing, so that the next open checks all pages. */
export function createWriterMark(meta: Meta): { set(): void; clear(): void } {
  const key = `${metaKeys.writer}${randomUUID()}`;
  return {
    set: () => meta.set(key, processMark()),
    clear: () => meta.delete(key),
  };
}

/** The marks of processes that have ended without closing the database. */
export function deadWriters(meta: Meta): string[] {
  return meta
    .startingWith(metaKeys.writer)
    .filter(({ value }) => isRunning(value) !== true)
    .map(({ key }) => key);
}
