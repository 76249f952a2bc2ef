import type Database from "better-sqlite3";
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
  /** The same, but only where a good part of the file is free. */
  stepIfMany(): boolean;
}

export function createFreePages(db: Database.Database, transactions: Transactions): FreePages {
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
        return free * numberOf("page_size") >= worthwhileBytes && free > worthwhileShare * numberOf("page_count");
      }),
  };
}
