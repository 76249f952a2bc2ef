import type { VectorQuery } from "@memslot/indexing";
import { filterParameters, type Generations, isAsked } from "@memslot/indexing/ledger-tables";
import type Database from "better-sqlite3";

/** Scopes whose files are remembered. */
const remembered = 8;

/** 1 for each file of the generation that a query with a scope is about, by its id. Called inside a transaction. */
export type ScopeFiles = (generation: number, query: Pick<VectorQuery, "sources" | "scope">) => Uint8Array;

export function createScopeFiles(db: Database.Database, generations: Pick<Generations, "revision">): ScopeFiles {
  const asked = db
    .prepare<[Record<string, unknown>], number>(`SELECT f.id FROM files f WHERE ${isAsked(true)}`)
    .pluck();
  const known = new Map<string, Uint8Array>();
  return (generation, query) => {
    const key = JSON.stringify([generation, generations.revision(), query.sources, query.scope]);
    let files = known.get(key);
    if (files === undefined) {
      const ids = asked.all(filterParameters(generation, query));
      files = new Uint8Array(ids.reduce((highest, id) => Math.max(highest, id), 0) + 1);
      for (const id of ids) files[id] = 1;
    }
    known.delete(key);
    known.set(key, files);
    for (const oldest of known.keys()) if (known.size > remembered) known.delete(oldest);
    return files;
  };
}
