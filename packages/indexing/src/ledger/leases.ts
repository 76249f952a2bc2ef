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

/** Rows of the index that other processes read. Writing may come to nothing where another process writes for long. */
export interface LeaseRows {
  get(key: string): string | undefined;
  /** Undefined deletes it. */
  set(key: string, value: string | undefined): void;
}

/**
 * Who holds a lease is decided by a lock alone; the row in the index says how far they are and counts for nothing when
 * the lock is free. Where there is no lock (the index is in memory, nobody has said where locks lie, or nothing can be
 * written there) leases are granted to everybody: in memory there is nobody else, and an index that two bring up to
 * date at once is right and dear, one that nobody may bring up to date is wrong.
 */
export function createLeases(input: {
  /** Undefined where the index is in memory. Asked each time: the index may have found a new place. */
  indexPath: () => string | undefined;
  locksDir: string | undefined;
  rows: LeaseRows;
  /** Whose they are, where several stores have leases on one file. Absent: there is only one. */
  store?: string | undefined;
  now?: () => number;
}): LeaseCalls & {
  /** Gives back what is held. */
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

  /** Where the disk takes no row, it takes nothing of what the lease is for: that fails next, and says so with the file. */
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
      // What is told last must not be lost: the holder may hang from here on.
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

/** Where there is no place for a lock, or it cannot be used, nobody has it. */
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

/** Somebody who only looks whether a lock is free is in the way for a moment. */
const attempts = 5;
const pauseMs = 2;

/** A lock that the operating system takes away from a process that ends, however it ends. */
interface LeaseLock {
  release(): void;
}

/**
 * Where the locks of an index lie: not beside it, and the same file for every way to write its path. Processes with
 * different folders for their locks do not know of each other.
 */
function lockPath(locksDir: string, indexPath: string, name: string): string {
  const key = createHash("sha256").update(realpathSync.native(indexPath)).digest("hex").slice(0, 32);
  return join(locksDir, `${key}.${name}.lock`);
}

/**
 * Takes the lock; undefined when somebody has it, in this process or another. Throws what the file system or SQLite
 * throws when the file cannot be made.
 *
 * The lock is that of SQLite on an empty database: it knows how to lock on each system, between threads too, and an
 * exclusive transaction that comes to nothing leaves it empty.
 */
function takeLock(path: string): LeaseLock | undefined {
  mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const before = fileIdentity(path);
    const db = new Database(path, { timeout: 0 });
    try {
      // Not by opening it here: closing it again would take away the lock that another store of this process has on it.
      if (before === undefined) chmodSync(path, 0o600);
      // SQLite sets about to give an empty database its first page, and would begin a journal for that.
      db.pragma("journal_mode = MEMORY");
      db.exec("BEGIN EXCLUSIVE");
      // Deleted between the look and the opening, or made by it: the next attempt tells.
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

/** True when somebody has the lock. Changes nothing. */
function isTaken(path: string): boolean {
  if (!existsSync(path)) return false;
  const db = new Database(path, { readonly: true, timeout: 0 });
  try {
    // Shares the file with others who look.
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

/**
 * Remembers in the database which processes have written to it and have not closed it, so that the next one to open
 * it knows whether a look at every page is due. A process that only reads leaves no mark.
 */
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
