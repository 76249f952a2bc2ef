import type Database from "better-sqlite3";
import { isBusy } from "../file/store-errors.ts";

/** How often a write asks for the lock, each time for as long as the busy timeout. */
const lockAttempts = 4;

/** Runs work inside a transaction. They do not nest. */
export interface Transactions {
  /** One view of the data, whatever other processes write meanwhile. */
  read<Result>(work: () => Result): Result;
  /** All or nothing. Takes the write lock first, so that it never has to be given up half-way. */
  write<Result>(work: () => Result): Result;
  /** A write that can wait: undefined, and nothing done, where another process is writing just now. */
  writeIfFree<Result>(work: () => Result): Result | undefined;
  /** True once this process has written. */
  hasWritten(): boolean;
}

/**
 * `seen` runs inside each transaction, in one that writes when that is done. `beforeFirstWrite` runs inside the first
 * write transaction, `beforeWrite` inside and `afterWrite` behind each.
 */
export function createTransactions(
  db: Database.Database,
  {
    seen,
    beforeFirstWrite,
    beforeWrite,
    afterWrite,
  }: Record<"seen" | "beforeFirstWrite" | "beforeWrite" | "afterWrite", () => void>,
): Transactions {
  let hasWritten = false;

  function run<Result>(work: () => Result): Result {
    try {
      const result = work();
      seen();
      db.exec("COMMIT");
      return result;
    } catch (error) {
      if (db.inTransaction) db.exec("ROLLBACK");
      throw error;
    }
  }

  function runWrite<Result>(work: () => Result): Result {
    const result = run(() => {
      beforeWrite();
      if (!hasWritten) beforeFirstWrite();
      return work();
    });
    hasWritten = true;
    afterWrite();
    return result;
  }

  return {
    read(work) {
      db.exec("BEGIN");
      return run(work);
    },
    write(work) {
      beginWrite(db, lockAttempts);
      return runWrite(work);
    },
    writeIfFree(work) {
      const busyTimeoutMs = Number(db.pragma("busy_timeout", { simple: true }));
      try {
        db.pragma("busy_timeout = 0");
        beginWrite(db, 1);
      } catch (error) {
        if (isBusy(error)) return undefined;
        throw error;
      } finally {
        db.pragma(`busy_timeout = ${busyTimeoutMs}`);
      }
      return runWrite(work);
    },
    hasWritten: () => hasWritten,
  };
}

/** Asks several times: SQLite does not queue, and a process that writes one batch after the other leaves short gaps. */
export function beginWrite(db: Database.Database, attempts: number): void {
  for (let attempt = 1; ; attempt++) {
    try {
      db.exec("BEGIN IMMEDIATE");
      return;
    } catch (error) {
      if (!isBusy(error) || attempt >= attempts) throw error;
    }
  }
}
