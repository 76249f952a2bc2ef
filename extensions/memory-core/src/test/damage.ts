import { closeSync, openSync, writeSync } from "node:fs";
import Database from "better-sqlite3";
import { forgetSum } from "@memslot/indexing/ledger-tables";

/** Runs SQL on a database file from outside of any store, as a release of memslot would: it says that it writes to it. */
export function edit<Result>(path: string, work: (db: Database.Database) => Result): Result {
  const db = new Database(path);
  forgetSum(path);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/** Overwrites the pages of one table, all but its first, with rubbish. Gives how many there were. */
export function spoilTable(path: string, table: string): number {
  const { pages, bytes } = edit(path, (db) => ({
    pages: db
      .prepare<[string], number>("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY pageno")
      .pluck()
      .all(table)
      .slice(1),
    bytes: Number(db.pragma("page_size", { simple: true })),
  }));
  const file = openSync(path, "r+");
  for (const page of pages) writeSync(file, Buffer.alloc(bytes, 0xa5), 0, bytes, (page - 1) * bytes);
  closeSync(file);
  return pages.length;
}
