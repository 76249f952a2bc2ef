import type Database from "better-sqlite3";
import { isBusy } from "./file/store-errors.ts";

/** Far more than there are texts, but for those about tables that were dropped. */
const mostKept = 300;

type Statement = Database.Statement<unknown[]>;

/** Runs SQL by its text, which is prepared once for a connection. So each text is a constant, or one of a few. */
export class Sql {
  readonly #db: Database.Database;
  /** Statements by their text: those that give whole rows, and those that give the first column alone. */
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

  /** The first column of all rows. */
  values<Value>(text: string, ...given: unknown[]): Value[] {
    return this.#values(text).all(...given) as Value[];
  }

  /** The first column of the first row. */
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
    // Tables of generations have their number in their name.
    for (const oldest of known.keys()) if (known.size > mostKept) known.delete(oldest);
    return prepared;
  }

  #values(text: string): Statement {
    return this.#statement(text, this.#firstColumns).pluck();
  }
}

const known = new WeakMap<Database.Database, Sql>();

/** The same one for all that use a connection. */
export function sqlOf(db: Database.Database): Sql {
  const sql = known.get(db) ?? new Sql(db);
  known.set(db, sql);
  return sql;
}

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

const walPauseMs = 25;

/** Switches to the write-ahead log. This needs the file exclusively for a moment, and SQLite does not always wait for that. */
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
