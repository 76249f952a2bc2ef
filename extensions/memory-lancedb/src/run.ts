import { MemoryError } from "@memslot/core";
import type { LancePlace } from "./place/place.ts";
import { isGone, toStoreError } from "./store-failure.ts";

/** A call of the store. */
interface Task<Result> {
  /** Begins a message, as in "searching the index". */
  what: string;
  deadlineMs: number;
  /** Its answer tells what is lost. */
  isListing: boolean;
  /** Forgets what is known of the tables. */
  forget(): void;
  call(): Promise<Result>;
}

/** Makes a call, in time, and tells a failure as a caller can act on it. */
export type Run = <Result>(task: Task<Result>) => Promise<Result>;

export function createRun({ within, location }: Pick<LancePlace, "within" | "location">): Run {
  return async ({ what, deadlineMs, forget, call }) => {
    try {
      return await within(what, deadlineMs, undefined, async () => {
        try {
          return await call();
        } catch (error) {
          // What another process has deleted under a reader is read anew.
          if (MemoryError.is(error) || !isGone(error)) throw error;
          forget();
          return await call();
        }
      });
    } catch (error) {
      throw toStoreError(error, location);
    }
  };
}
