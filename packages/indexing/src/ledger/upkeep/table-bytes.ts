import type Database from "better-sqlite3";

/** Bytes of each table with its indexes and, for a virtual table, with the tables that it keeps for itself; the largest first. */
export function tableBytes(db: Database.Database): { name: string; bytes: number }[] {
  const owners = new Map(
    db
      .prepare<[], [string, string]>("SELECT name, tbl_name FROM sqlite_schema WHERE type IN ('table', 'index')")
      .raw()
      .all(),
  );
  const virtual = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'")
    .pluck()
    .all();
  const sums = new Map<string, number>();
  const pages = db.prepare<[], { name: string; bytes: number }>(
    "SELECT name, pgsize AS bytes FROM dbstat WHERE aggregate = TRUE",
  );
  for (const { name, bytes } of pages.all()) {
    const table = owners.get(name) ?? name;
    const owner = virtual.find((one) => table.startsWith(`${one}_`)) ?? table;
    sums.set(owner, (sums.get(owner) ?? 0) + bytes);
  }
  return [...sums].map(([name, bytes]) => ({ name, bytes })).toSorted((one, other) => other.bytes - one.bytes);
}
