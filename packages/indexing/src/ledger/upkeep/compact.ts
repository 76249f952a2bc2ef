import { statSync } from "node:fs";
import type { CompactReport } from "@memslot/core";
import Database from "better-sqlite3";
import type { Companion } from "../database/companion.ts";
import type { DroppedGenerations } from "../generations/dropped-generations.ts";
import { forgetSum } from "../file/file-sum.ts";
import type { FreePages } from "./free-pages.ts";
import type { Generations } from "../generations/generations.ts";
import type { Pieces } from "../thread/pieces.ts";
import type { Transactions } from "../database/transactions.ts";
import type { Vectors } from "../vectors/vectors.ts";

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
  vectors: Pick<Vectors, "dead">;
  companion: Pick<Companion, "compact">;
  freePages: FreePages;
}): Pieces<CompactReport> {
  const { db, path, transactions, generations, dropped, vectors, companion, freePages } = input;
  const beforeBytes = sizeOf(db, path);
  while (dropped.step()) yield;
  vectors.dead.forgetPast();
  while (vectors.dead.step()) yield;
  for (const generation of transactions.read(() => generations.live())) {
    yield* companion.compact(generation);
    yield;
  }
  if (path !== undefined && db.pragma("auto_vacuum", { simple: true }) === 0) vacuum(path, input.busyTimeoutMs);
  else while (freePages.step()) yield;
  yield;
  // What was given up is given back when the log is written into the file.
  if (path !== undefined) db.pragma("wal_checkpoint(TRUNCATE)");
  return { beforeBytes, afterBytes: sizeOf(db, path) };
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
