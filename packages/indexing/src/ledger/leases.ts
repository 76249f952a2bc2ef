import { hostname } from "node:os";
import type { WriterStatus } from "@memslot/core";
import type { LeaseCalls, LeaseName } from "./ledger.ts";
import { isRunning, processMark } from "@memslot/core/process-mark";
import { type Meta, metaKeys } from "./file/meta.ts";
import { createHash, randomUUID } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { fileIdentity } from "./file/set-aside.ts";
import { isBusy } from "./file/store-errors.ts";

/** Progress is written at most this often, for others to read. */
const rowEveryMs = 500;

/** The lock decides ownership; the row reports progress. Without a lock file every process gets the lease. */
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
  /** Whose they are, where several stores have leases on one file. Absent: there is only one. */
  store?: string | undefined;
  now?: () => number;
}): LeaseCalls & {
  close(): void;
} {
  const { indexPath, locksDir, rows, store, now = Date.now } = input;
  const held = new Map<LeaseName, { lock: LeaseLock | undefined; status: WriterStatus; writtenAt: number }>();
  let later: NodeJS.Timeout | undefined;
  const ownName = (name: LeaseName): string => (store === undefined ? name : `${store}.${name}`);
  const rowOf = (name: LeaseName): string => `${metaKeys.lease}${ownName(name)}`;
  const locks = locksAt((name) => {
    const path = indexPath();
    return path === undefined || locksDir === undefined ? undefined : lockPath(locksDir, path, ownName(name));
  });

  function write(name: LeaseName): void {
    const lease = held.get(name);
    if (!lease) return;
    lease.writtenAt = now();
    setRow(name, JSON.stringify(lease.status));
  }

  /** If the row cannot be written, the work itself fails next with the file's name. */
  function setRow(name: LeaseName, text: string | undefined): void {
    try {
      rows.set(rowOf(name), text);
    } catch {
      // The lock alone decides.
    }
  }

  function release(name: LeaseName): void {
    const lease = held.get(name);
    if (!lease) return;
    held.delete(name);
    if (name === "build") {
      clearTimeout(later);
      later = undefined;
    }
    // While the lock still keeps the next holder from writing its own.
    setRow(name, undefined);
    lease.lock?.release();
  }

  return {
    acquire(name, reason) {
      if (held.has(name)) return true;
      const { taken, lock } = locks.take(name);
      if (taken) return false;
      const since = new Date(now()).toISOString();
      held.set(name, { lock, status: { pid: process.pid, host: hostname(), reason, since }, writtenAt: 0 });
      write(name);
      // The first word of how far it is goes out at once.
      const lease = held.get(name);
      if (lease) lease.writtenAt = 0;
      return true;
    },
    release,
    report({ completed, total, label }) {
      const lease = held.get("build");
      if (!lease) return;
      lease.status = { ...lease.status, completed, total, label };
      if (now() - lease.writtenAt >= rowEveryMs) return write("build");
      later ??= setTimeout(() => {
        later = undefined;
        write("build");
      }, rowEveryMs).unref();
    },
    holder(name) {
      const own = held.get(name);
      if (own) return own.status;
      const row = parseRow(rows.get(rowOf(name)));
      return row && locks.isTaken(name) ? row : undefined;
    },
    close() {
      for (const name of held.keys()) release(name);
    },
  };
}

/** Without a usable lock file nobody owns the lease. */
function locksAt(pathOf: (name: LeaseName) => string | undefined): {
  take(name: LeaseName): { taken: boolean; lock?: LeaseLock };
  isTaken(name: LeaseName): boolean;
} {
  return {
    take(name) {
      try {
        const path = pathOf(name);
        if (path === undefined) return { taken: false };
        const lock = takeLock(path);
        return lock === undefined ? { taken: true } : { taken: false, lock };
      } catch {
        return { taken: false };
      }
    },
    isTaken(name) {
      try {
        const path = pathOf(name);
        return path !== undefined && isTaken(path);
      } catch {
        return false;
      }
    },
  };
}

function parseRow(text: string | undefined): WriterStatus | undefined {
  if (text === undefined) return undefined;
  try {
    const row = JSON.parse(text) as WriterStatus;
    return typeof row.pid === "number" && typeof row.reason === "string" ? row : undefined;
  } catch {
    return undefined;
  }
}

/** A check whether a lock is free holds it briefly. */
const attempts = 5;
const pauseMs = 2;

interface LeaseLock {
  release(): void;
}

/** Takes the lock (an exclusive SQLite transaction); undefined if taken. Throws file system errors. */
function lockPath(locksDir: string, indexPath: string, name: string): string {
  const key = createHash("sha256").update(realpathSync.native(indexPath)).digest("hex").slice(0, 32);
  return join(locksDir, `${key}.${name}.lock`);
}

/**
 * Takes the lock; undefined if it is taken. Throws errors of the file system or SQLite. Uses an exclusive SQLite
 * transaction on an empty database, which locks on every system and between threads.
 */
function takeLock(path: string): LeaseLock | undefined {
  mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const before = fileIdentity(path);
    const db = new Database(path, { timeout: 0 });
    try {
      if (before === undefined) chmodSync(path, 0o600);
      // Avoids a journal for the first page of an empty database.
      db.pragma("journal_mode = MEMORY");
      db.exec("BEGIN EXCLUSIVE");
      // The file changed between check and open; try again.
      if (before !== undefined && fileIdentity(path) === before) return { release: () => void db.close() };
    } catch (error) {
      db.close();
      if (!isBusy(error)) throw error;
      pause();
      continue;
    }
    db.close();
  }
  return undefined;
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

function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
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
