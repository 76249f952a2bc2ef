import type Database from "better-sqlite3";
import { hasTable, isAboutWordsOnly, isSqliteError, type Meta, metaKeys } from "@memslot/indexing/ledger-tables";
import { emptyWords } from "./rebuild-words.ts";
import { wordTable } from "./word-tables.ts";

/** Why words cannot be indexed. */
export const noFts = "this build of SQLite has no FTS5";

export function wordsNotice(path: string): string {
  return `the words of the index ${path} were missing or out of date; they are made anew from the texts in it, and no note is read again`;
}

/**
 * Makes the tables of words fit the chunks: where they are missing or stale they are emptied, and filled again from the
 * texts in the index, which `createWordRebuild` does. True: they were emptied.
 */
export function settleWords(input: {
  db: Database.Database;
  meta: Meta;
  store: string;
  /** Runs work in a transaction. */
  write: (work: () => void) => void;
}): boolean {
  const { db, meta, store, write } = input;
  const generations = db
    .prepare<[string], number>("SELECT id FROM generations WHERE store = ? AND state <> 'dropped'")
    .pluck();
  const isStale = (): boolean => meta.get(metaKeys.wordsStale) !== undefined;
  if (!isStale() && generations.all(store).every((id) => hasSoundWords(db, id))) return false;
  write(() => {
    const stale = isStale();
    for (const id of generations.all(store)) if (stale || !hasSoundWords(db, id)) emptyWords(db, meta, id);
    // Of an index that was brought up to this schema where there was no FTS5.
    db.exec("DROP TABLE IF EXISTS chunks_fts");
    meta.delete(metaKeys.wordsStale);
  });
  const files = "SELECT 1 FROM files WHERE chunks > 0 AND generation IN (SELECT value FROM json_each(?)) LIMIT 1";
  return db.prepare(files).get(JSON.stringify(generations.all(store))) !== undefined;
}

function hasSoundWords(db: Database.Database, generation: number): boolean {
  const table = wordTable(generation);
  if (!hasTable(db, table) || !hasTable(db, `${table}_docsize`)) return false;
  try {
    db.prepare(`SELECT rowid FROM ${table} LIMIT 1`).get();
    return true;
  } catch (error) {
    if (isAboutWordsOnly(error) || isSqliteError(error, "SQLITE_ERROR")) return false;
    throw error;
  }
}
