import type Database from "better-sqlite3";
import type { RevisionStep } from "../../chunk-index.ts";
import { Damage } from "../file/file-faults.ts";
import { type Meta, metaKeys } from "../file/meta.ts";
import { addGeneration, type BeginTables } from "../file/schema.ts";

/** A complete build of the index, or one that is being made. */
export interface Generation {
  id: number;
  name: string;
  /** Milliseconds since 1970. */
  startedAt: number;
  builtAt: number | null;
}

/**
 * Which build of a store answers, and which is being made. Another process may change that at any time, so it is asked
 * inside each transaction, and holds until its end.
 */
export interface Generations {
  active(): Generation;
  next(): Generation | undefined;
  /** Those whose chunks are kept in step: the one that answers, and the next. */
  live(): number[];
  /** The oldest one that waits to be deleted. */
  dropped(except: readonly number[]): number | undefined;
  add(name: string): number;
  drop(id: number): void;
  /** Puts `next` in place of the one that answers. */
  flip(at: number): void;
  forget(id: number): void;
  /** Changes with every change of the files that answer. */
  revision(): string;
  /** Called inside the transaction of such a change. */
  revise(): RevisionStep;
}

/** Those of one store. `begin` makes what else a new one needs. */
export function openGenerations(input: {
  db: Database.Database;
  meta: Meta;
  store: string;
  begin: BeginTables;
}): Generations {
  const { db, meta, store, begin } = input;
  const inState = db.prepare<[string, string], Generation>(
    "SELECT id, name, started_at AS startedAt, built_at AS builtAt FROM generations WHERE store = ? AND state = ?",
  );
  const live = db
    .prepare<[string], number>("SELECT id FROM generations WHERE store = ? AND state <> 'dropped' ORDER BY id")
    .pluck();
  const dropped = db
    .prepare<[string, string], number>(
      "SELECT id FROM generations WHERE store = ? AND state = 'dropped' AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT 1",
    )
    .pluck();
  const drop = db.prepare<[number]>("UPDATE generations SET state = 'dropped' WHERE id = ?");
  const flip = db.prepare<[number, string]>(`
    UPDATE generations SET
      built_at = CASE state WHEN 'next' THEN ? ELSE built_at END,
      state = CASE state WHEN 'next' THEN 'active' ELSE 'dropped' END
    WHERE store = ?
  `);
  const forget = db.prepare<[number]>("DELETE FROM generations WHERE id = ?");
  const revise = db.prepare<[string]>(
    "INSERT INTO meta VALUES (?, '1') ON CONFLICT DO UPDATE SET value = CAST(value AS INTEGER) + 1",
  );
  const revision = (): string => meta.get(metaKeys.revision + store) ?? "0";
  return {
    active() {
      const generation = inState.get(store, "active");
      if (!generation) throw new Damage("no build of the index is marked as the one that answers");
      return generation;
    },
    next: () => inState.get(store, "next"),
    live: () => live.all(store),
    dropped: (except) => dropped.get(store, JSON.stringify(except)),
    add: (name) => addGeneration(db, { store, name, state: "next", begin }),
    drop: (id) => void drop.run(id),
    flip: (at) => void flip.run(at, store),
    forget: (id) => void forget.run(id),
    revision,
    revise() {
      const from = revision();
      revise.run(metaKeys.revision + store);
      return { from, to: revision() };
    },
  };
}

/** Generations that statements are kept for: the one that answers, and the next. */
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
