import { statSync } from "node:fs";
import type { CompactReport } from "@memslot/core";
import Database from "better-sqlite3";
import type { DroppedGenerations } from "../generations/dropped-generations.ts";
import { forgetSum } from "../file/file-sum.ts";
import type { FreePages } from "./free-pages.ts";
import type { Generations } from "../generations/generations.ts";
import type { Pieces } from "../pieces.ts";
import { hasTable, wordTable } from "../file/schema.ts";
import type { Transactions } from "../transactions.ts";
import type { Vectors } from "../vectors/vectors.ts";

/** Pages of FTS5 that one step merges at most. */
const mergePages = 500;
const vacuumCacheKibibytes = 8192;

/** Gives back what deleted and changed notes have left. Another process that writes comes first, and ends it early. */
export async function* compact(input: {
  db: Database.Database;
  /** Undefined where the index is in memory. */
  path: string | undefined;
  busyTimeoutMs: number;
  transactions: Transactions;
  generations: Generations;
  dropped: DroppedGenerations;
  vectors: Pick<Vectors, "held" | "layOutAnew" | "hasHoles" | "dead">;
  freePages: FreePages;
  indexWords: boolean;
}): Pieces<CompactReport> {
  const { db, path, transactions, generations, dropped, vectors, freePages } = input;
  const beforeBytes = sizeOf(db, path);
  while (dropped.step()) yield;
  vectors.dead.forgetPast();
  while (vectors.dead.step()) yield;
  for (const generation of transactions.read(() => generations.live())) {
    if (input.indexWords) yield* mergeWords(db, transactions, generation);
    if (transactions.read(() => vectors.held(generation) !== undefined && vectors.hasHoles(generation)))
      vectors.layOutAnew(generation);
    yield;
  }
  if (path !== undefined && db.pragma("auto_vacuum", { simple: true }) === 0) vacuum(path, input.busyTimeoutMs);
  else while (freePages.step()) yield;
  yield;
  // What was given up is given back when the log is written into the file.
  if (path !== undefined) db.pragma("wal_checkpoint(TRUNCATE)");
  return { beforeBytes, afterBytes: sizeOf(db, path) };
}

async function* mergeWords(db: Database.Database, transactions: Transactions, generation: number): Pieces<void> {
  const table = wordTable(generation);
  const changes = db.prepare<[], number>("SELECT total_changes()").pluck();
  // A negative number begins a merge of everything, a positive one goes on with it.
  for (let pages = -mergePages; ; pages = mergePages) {
    const merged = transactions.write(() => {
      if (!hasTable(db, table)) return 0;
      const before = changes.get() ?? 0;
      db.prepare<[number]>(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', ?)`).run(pages);
      return (changes.get() ?? 0) - before;
    });
    yield;
    // That is how FTS5 says that there was nothing to do.
    if (merged < 2) return;
  }
}

/**
 * A file of an earlier schema cannot give back single pages before it was written anew as a whole. That is done by a
 * connection of its own, which keeps the copy in a temporary file: this one would keep it in memory.
 */
function vacuum(path: string, busyTimeoutMs: number): void {
  forgetSum(path);
  const db = new Database(path, { timeout: busyTimeoutMs });
  try {
    db.pragma("temp_store = FILE");
    db.pragma(`cache_size = -${vacuumCacheKibibytes}`);
    db.pragma("auto_vacuum = INCREMENTAL");
    db.exec("VACUUM");
  } finally {
    db.close();
  }
}

/** With the log: what is in there is going to be in the file. */
function sizeOf(db: Database.Database, path: string | undefined): number {
  if (path === undefined)
    return Number(db.pragma("page_count", { simple: true })) * Number(db.pragma("page_size", { simple: true }));
  return ["", "-wal"].reduce((sum, suffix) => sum + (statSync(path + suffix, { throwIfNoEntry: false })?.size ?? 0), 0);
}
