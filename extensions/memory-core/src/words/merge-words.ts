import { hasTable, type Pieces, type Transactions } from "@memslot/indexing/ledger-tables";
import type Database from "better-sqlite3";
import { wordTable } from "./word-tables.ts";

/** Pages of FTS5 that one step merges at most. */
const mergePages = 500;

/** Frees the space of removed words in a generation's table. */
export async function* mergeWords(db: Database.Database, transactions: Transactions, generation: number): Pieces<void> {
  const table = wordTable(generation);
  const changes = db.prepare<[], number>("SELECT total_changes()").pluck();
  // A negative number starts a full merge, a positive one continues it.
  for (let pages = -mergePages; ; pages = mergePages) {
    const merged = transactions.write(() => {
      if (!hasTable(db, table)) return 0;
      const before = changes.get() ?? 0;
      db.prepare<[number]>(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', ?)`).run(pages);
      return (changes.get() ?? 0) - before;
    });
    yield;
    // FTS5 reports this when there was nothing to do.
    if (merged < 2) return;
  }
}
