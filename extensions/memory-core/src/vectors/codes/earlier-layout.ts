import { type Transactions } from "@memslot/indexing/ledger-tables";
import type Database from "better-sqlite3";

/** What releases before this one laid out, with sqlite-vec. */
export function vectorTable(generation: number): string {
  return `chunks_vec_${generation}`;
}

/**
 * Drops the tables of sqlite-vec that an earlier release has made. Only sqlite-vec can drop them whole: without it, the
 * tables that they consist of are dropped, and a name is left.
 */
export function dropEarlierLayouts(db: Database.Database, transactions: Transactions, load: () => void): void {
  const names = db
    .prepare<[string], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB ? ORDER BY length(name)",
    )
    .pluck();
  const parts = names.all("chunks_vec*_*").filter((name) => /^chunks_vec(?:_\d+)?_[a-z]/u.test(name));
  if (parts.length === 0) return;
  load();
  transactions.writeIfFree(() => {
    for (const table of names.all("chunks_vec*").filter((name) => /^chunks_vec(?:_\d+)?$/u.test(name))) {
      try {
        db.exec(`DROP TABLE ${table}`);
      } catch {
        for (const part of parts.filter(
          (name) => name.startsWith(`${table}_`) && !/^\d/u.test(name.slice(table.length + 1)),
        ))
          db.exec(`DROP TABLE IF EXISTS ${part}`);
      }
    }
  });
}
