import type Database from "better-sqlite3";
import type { RevisionStep } from "../index-row-types.ts";
import { type Sql, sqlOf, type Transactions } from "./sql.ts";
import { Damage } from "./file/store-errors.ts";
import { type Meta, metaKeys } from "./file/meta.ts";
import { addGeneration, type BeginTables } from "./file/schema.ts";

export interface Generation {
  id: number;
  name: string;
  startedAt: number;
  builtAt: number | null;
}

interface Input {
  db: Database.Database;
  meta: Meta;
  store: string;
  /** The first part of each revision. */
  opening: string;
  begin: BeginTables;
}

/** The active build of a store and the next one. Read inside each transaction because another process may change it. */
export class Generations {
  readonly #input: Input;
  readonly #sql: Sql;
  readonly #revision: string;

  constructor(input: Input) {
    this.#input = input;
    this.#sql = sqlOf(input.db);
    this.#revision = metaKeys.revision + input.store;
  }

  active(): Generation {
    const generation = this.#inState("active");
    if (!generation) throw new Damage("no build of the index is marked as the one that answers");
    return generation;
  }

  next(): Generation | undefined {
    return this.#inState("next");
  }

  /** Those whose chunks are kept in step: the one that answers, and the next. */
  live(): number[] {
    const select = "SELECT id FROM generations WHERE store = ? AND state <> 'dropped' ORDER BY id";
    return this.#sql.values(select, this.#input.store);
  }

  dropped(except: readonly number[]): number | undefined {
    return this.#sql.value(
      `SELECT id FROM generations WHERE store = ? AND state = 'dropped'
         AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT 1`,
      this.#input.store,
      JSON.stringify(except),
    );
  }

  add(name: string): number {
    const { db, store, begin } = this.#input;
    return addGeneration(db, { store, name, state: "next", begin });
  }

  drop(id: number): void {
    this.#sql.run("UPDATE generations SET state = 'dropped' WHERE id = ?", id);
  }

  flip(at: number): void {
    this.#sql.run(
      `UPDATE generations SET
         built_at = CASE state WHEN 'next' THEN ? ELSE built_at END,
         state = CASE state WHEN 'next' THEN 'active' ELSE 'dropped' END
       WHERE store = ?`,
      at,
      this.#input.store,
    );
  }

  forget(id: number): void {
    this.#sql.run("DELETE FROM generations WHERE id = ?", id);
  }

  revision(): string {
    return `${this.#input.opening}.${this.#input.meta.get(this.#revision) ?? "0"}`;
  }

  revise(): RevisionStep {
    const from = this.revision();
    this.#sql.run(
      "INSERT INTO meta VALUES (?, '1') ON CONFLICT DO UPDATE SET value = CAST(value AS INTEGER) + 1",
      this.#revision,
    );
    return { from, to: this.revision() };
  }

  #inState(state: string): Generation | undefined {
    return this.#sql.row(
      `SELECT id, name, started_at AS startedAt, built_at AS builtAt FROM generations WHERE store = ? AND state = ?`,
      this.#input.store,
      state,
    );
  }
}

export interface LedgerBase {
  db: Database.Database;
  meta: Meta;
  transactions: Transactions;
  generations: Generations;
}

const keptGenerations = 2;

/** Keeps what is prepared for a generation for as long as it is likely to be asked for. */
export function perGeneration<Prepared>(prepare: (generation: number) => Prepared): (generation: number) => Prepared {
  const kept = new Map<number, Prepared>();
  return (generation) => {
    const known = kept.get(generation);
    if (known !== undefined) return known;
    const prepared = prepare(generation);
    kept.set(generation, prepared);
    for (const old of kept.keys()) if (kept.size > keptGenerations) kept.delete(old);
    return prepared;
  };
}
