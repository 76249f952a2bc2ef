import type Database from "better-sqlite3";
import { type Meta, metaKeys } from "../file/meta.ts";
import type { Transactions } from "../database/transactions.ts";

/** Pages that one step gives back: a few megabytes, which go through the log. */
const stepPages = 128;
/** Less than this is kept for what is written next. */
const worthwhileBytes = 1024 * 1024;
const worthwhileShare = 0.25;

/** Gives pages that hold nothing back to the file system. */
export interface FreePages {
  /** Gives some back. True: there are more. Where another process writes, or the file cannot do it, nothing is done. */
  step(): boolean;
  /** The same, but only where a good part of the file is free, or may hold secrets. */
  stepIfMany(): boolean;
}

export function createFreePages(db: Database.Database, transactions: Transactions, meta: Meta): FreePages {
  const numberOf = (pragma: string): number => Number(db.pragma(pragma, { simple: true }));

  function step(isEnough: () => boolean): boolean {
    if (!isEnough()) return false;
    const before = numberOf("freelist_count");
    transactions.writeIfFree(() => {
      // `pragma()` of the driver stops after the first row, and each row is a page.
      db.exec(`PRAGMA incremental_vacuum(${stepPages})`);
    });
    return numberOf("freelist_count") < before && isEnough();
  }

  return {
    step: () => step(() => numberOf("freelist_count") > 0),
    stepIfMany: () =>
      step(() => {
        const free = numberOf("freelist_count");
        if (transactions.read(() => meta.get(metaKeys.unwiped)) !== undefined) {
          if (free > 0) return true;
          transactions.writeIfFree(() => meta.delete(metaKeys.unwiped));
        }
        return free * numberOf("page_size") >= worthwhileBytes && free > worthwhileShare * numberOf("page_count");
      }),
  };
}
