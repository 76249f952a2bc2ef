import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { fileIdentity } from "../file/set-aside.ts";
import { isBusy } from "../file/store-errors.ts";

/** Somebody who only looks whether a lock is free is in the way for a moment. */
const attempts = 5;
const pauseMs = 2;

/** A lock that the operating system takes away from a process that ends, however it ends. */
export interface LeaseLock {
  release(): void;
}

/**
 * Where the locks of an index lie: not beside it, and the same file for every way to write its path. Processes with
 * different folders for their locks do not know of each other.
 */
export function lockPath(locksDir: string, indexPath: string, name: string): string {
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
export function takeLock(path: string): LeaseLock | undefined {
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
export function isTaken(path: string): boolean {
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
