import { MemoryError, isAbort, messageOf } from "@memslot/core";

/** Runs something on the state folder. What fails there and has no words of its own is `UNAVAILABLE`, told as `tell` says. */
export async function orUnavailable<T>(run: () => Promise<T>, tell: (why: string) => string): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (MemoryError.is(error) || isAbort(error)) throw error;
    throw new MemoryError("UNAVAILABLE", tell(messageOf(error)), { cause: error });
  }
}
