import Database from "better-sqlite3";
import type { LeaseRows } from "../leases.ts";

export { fileOf, numbered, sha256, spaceOf, vectorOf } from "@memslot/test-tools/ledger-files";

/** Rows in a table of their own in a database file, each time with a new connection. */
export function leaseRows(path: string): LeaseRows {
  function use<Result>(work: (db: Database.Database) => Result): Result {
    const db = new Database(path, { timeout: 5000 });
    try {
      db.exec("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT)");
      return work(db);
    } finally {
      db.close();
    }
  }
  return {
    get: (key) => use((db) => db.prepare<[string], string>("SELECT value FROM meta WHERE key = ?").pluck().get(key)),
    set(key, value) {
      use((db) =>
        value === undefined
          ? db.prepare("DELETE FROM meta WHERE key = ?").run(key)
          : db.prepare("INSERT OR REPLACE INTO meta VALUES (?, ?)").run(key, value),
      );
    },
  };
}
