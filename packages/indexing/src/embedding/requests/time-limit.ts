import { MemoryError } from "@memslot/core";

/** Whether a request failed because it took too long: half of it may be quick enough. */
export function isTimeLimit(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth++) {
    if (cause.name === "TimeoutError" || MemoryError.is(cause, "UNAVAILABLE")) return true;
  }
  return false;
}
