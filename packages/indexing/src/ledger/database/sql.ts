import type Database from "better-sqlite3";

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
