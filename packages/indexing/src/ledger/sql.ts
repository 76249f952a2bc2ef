import type Database from "better-sqlite3";
import { isBusy } from "./file/store-errors.ts";

/** More than there are statements, except those of dropped tables. */
const mostKept = 300;

type Statement = Database.Statement<unknown[]>;

export class Sql {
  readonly #db: Database.Database;
  readonly #rows = new Map<string, Statement>();
  readonly #firstColumns = new Map<string, Statement>();

  constructor(db: Database.Database) {
    this.#db = db;
  }

  all<Row>(text: string, ...given: unknown[]): Row[] {
    return this.#statement(text).all(...given) as Row[];
  }

  row<Row>(text: string, ...given: unknown[]): Row | undefined {
    return this.#statement(text).get(...given) as Row | undefined;
  }

  values<Value>(text: string, ...given: unknown[]): Value[] {
    return this.#values(text).all(...given) as Value[];
  }

  value<Value>(text: string, ...given: unknown[]): Value | undefined {
    return this.#values(text).get(...given) as Value | undefined;
  }

  run(text: string, ...given: unknown[]): Database.RunResult {
    return this.#statement(text).run(...given);
  }

  #statement(text: string, known = this.#rows): Statement {
    const before = known.get(text);
    if (before !== undefined) return before;
    const prepared = this.#db.prepare<unknown[]>(text);
    known.set(text, prepared);
    // Table names contain the generation.
    for (const oldest of known.keys()) if (known.size > mostKept) known.delete(oldest);
    return prepared;
  }

  #values(text: string): Statement {
    return this.#statement(text, this.#firstColumns).pluck();
  }
}

const known = new WeakMap<Database.Database, Sql>();

export function sqlOf(db: Database.Database): Sql {
  const sql = known.get(db) ?? new Sql(db);
  known.set(db, sql);
  return sql;
}

/** Attempts to get the write lock, each for the busy timeout. */
const lockAttempts = 4;

export interface Transactions {
  read<Result>(work: () => Result): Result;
  /** All or nothing. Takes the write lock at the start. */
  write<Result>(work: () => Result): Result;
  /** A deferrable write: returns undefined if another process is writing. */
  writeIfFree<Result>(work: () => Result): Result | undefined;
  /** True once this process has written. */
  hasWritten(): boolean;
}

/** `seen` runs inside each transaction, `beforeFirstWrite` and `beforeWrite` in writes, `afterWrite` after. */
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

/** Retries: SQLite does not queue, and a process that writes batches leaves short gaps. */
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

const walPauseMs = 25;

/** Switches to WAL. SQLite does not always wait for the exclusive access that this needs. */
export function useWal(db: Database.Database, waitMs: number): void {
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
