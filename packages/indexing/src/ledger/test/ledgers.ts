import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "@memslot/test-tools/files";
import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import type { VectorSpace } from "../../chunk-store.ts";
import { openDatabaseStore, type OpenedStore } from "../database-store.ts";
import { forgetSum } from "../integrity.ts";
import type { Ledger } from "../ledger.ts";
import { openLedgerWith, type ThreadOptions } from "../open-ledger.ts";
import type { OpenOptions } from "../thread/thread-messages.ts";
import { sha256, vectorOf } from "./notes.ts";

export { fileOf, numbered, sha256, spaceOf, vectorOf } from "./notes.ts";

export function tempPath(): string {
  return join(tempFolder(), "state", "main.sqlite");
}

/** Opens a ledger that is closed when the test has ended. */
export async function open(path: string, given: Partial<ThreadOptions> = {}): Promise<Ledger> {
  const ledger = await openLedgerWith({ path, store: "one", cacheMaxEntries: 50_000, keepsOwnVectors: true, ...given });
  onTestFinished(() => ledger.close());
  return ledger;
}

/** The ledger on this thread, so that nothing happens between two calls. Closed when the test has ended. */
export function openHere(path: string, given: Partial<OpenOptions> = {}): OpenedStore {
  const options = { path, store: "one", cacheMaxEntries: 50_000, busyTimeoutMs: 1000, keepsOwnVectors: true };
  const store = openDatabaseStore({ ...options, ...given });
  onTestFinished(() => store.close());
  return store;
}

/** Runs SQL on a database file from outside, as a release of memslot would: it says that it writes to it. */
export function edit<Result>(path: string, work: (db: Database.Database) => Result): Result {
  const db = new Database(path);
  forgetSum(path);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/** Gives these texts their vectors. */
export function embed(store: OpenedStore, space: VectorSpace, ...texts: string[]): void {
  store.putVectors(
    space,
    texts.map((text) => ({ hash: sha256(text), vector: vectorOf(text, space.dimensions) })),
  );
}

/** Overwrites the pages of one table, all but its first, with rubbish. */
export function spoil(path: string, table: string): void {
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
}
