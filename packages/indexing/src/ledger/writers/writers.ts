import { randomUUID } from "node:crypto";
import { isRunning, processMark } from "@memslot/core/process-mark";
import { type Meta, metaKeys } from "../file/meta.ts";

/**
 * Remembers in the database which processes have written to it and have not closed it, so that the next one to open
 * it knows whether a look at every page is due. A process that only reads leaves no mark.
 */
export interface WriterMark {
  set(): void;
  clear(): void;
}

export function createWriterMark(meta: Meta): WriterMark {
  const key = `${metaKeys.writer}${randomUUID()}`;
  return {
    set: () => meta.set(key, processMark()),
    clear: () => meta.delete(key),
  };
}

/** The marks of processes that have ended without closing the database. */
export function deadWriters(meta: Meta): string[] {
  return meta
    .startingWith(metaKeys.writer)
    .filter(({ value }) => isRunning(value) !== true)
    .map(({ key }) => key);
}
