import { MemoryError, isAbort, messageOf } from "@memslot/core";
import { type LockOptions, type ProcessLock, acquireLock } from "@memslot/core/files";

/** Runs something on the state folder. What fails there and has no words of its own is `UNAVAILABLE`, told as `tell` says. */
export async function orUnavailable<T>(run: () => Promise<T>, tell: (why: string) => string): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (MemoryError.is(error) || isAbort(error)) throw error;
    throw new MemoryError("UNAVAILABLE", tell(messageOf(error)), { cause: error });
  }
}

/** A lock on a file of the state folder, see `acquireLock`. Throws `UNAVAILABLE` where the folder cannot be written. */
export async function acquireStateLock(file: string, options: LockOptions): Promise<ProcessLock> {
  const lock = await telling(file, () => acquireLock(file, options));
  return { release: () => telling(file, () => lock.release()) };
}

/** Runs something while holding a lock. */
export async function withStateLock<T>(file: string, options: LockOptions, run: () => Promise<T>): Promise<T> {
  const lock = await acquireStateLock(file, options);
  try {
    return await run();
  } finally {
    await lock.release();
  }
}

/** The same; undefined at once where another process holds the lock of that file. */
export async function unlessLocked<T>(
  file: string,
  signal: AbortSignal,
  run: () => Promise<T>,
): Promise<T | undefined> {
  try {
    const busy = (): string => `${file} is at work elsewhere`;
    return await withStateLock(`${file}.lock`, { waitMs: 0, busy, signal }, run);
  } catch (error) {
    if (MemoryError.is(error, "BUSY")) return undefined;
    throw error;
  }
}

function telling<T>(file: string, run: () => Promise<T>): Promise<T> {
  return orUnavailable(run, (why) => {
    return `${file} cannot be written: ${why}; check the state folder, or name another one in MEMSLOT_HOME`;
  });
}
