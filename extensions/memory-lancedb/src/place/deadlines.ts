import { MemoryError, isAbort, withDeadline } from "@memslot/core";
import type { PlaceErrors } from "./place-errors.ts";

/** For a call of some requests that follow each other, on a slow line. */
export const callMs = 20_000;

/**
 * Runs a call to LanceDB, which listens to no signal. No answer after `ms` milliseconds is `UNAVAILABLE`, an abort is
 * an `AbortError` at once; what LanceDB does then comes to its end in the background. Where the place is at fault (it
 * cannot be reached, or refuses the keys) the error is `UNAVAILABLE` with the next step. Other errors stay what they
 * are, without keys. `what` begins the message of a deadline, as in "searching the index".
 */
export type Within = <T>(
  what: string,
  ms: number,
  signal: AbortSignal | undefined,
  call: () => Promise<T>,
) => Promise<T>;

export function createWithin(errors: PlaceErrors): Within {
  return async (what, ms, signal, call) => {
    const limits = { what: `${what} in ${errors.name}`, deadlineMs: ms, signals: [signal], action: errors.patience };
    try {
      return await withDeadline(limits, () => call());
    } catch (error) {
      if (isAbort(error) || MemoryError.is(error)) throw error;
      throw errors.of(error, what);
    }
  };
}
