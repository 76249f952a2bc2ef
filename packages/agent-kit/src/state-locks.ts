import { MemoryError, isAbort, messageOf, type Sentence } from "@memslot/core";
import { type LockOptions, type ProcessLock, acquireLock } from "@memslot/core/files";

export function invalid(message: string | Sentence): MemoryError {
  return new MemoryError("INVALID_ARGUMENT", message);
}

/** Runs a step on the state folder. Errors that are not a `MemoryError` become `UNAVAILABLE` with the message of `tell`. */
export async function orUnavailable<T>(run: () => Promise<T>, tell: (why: string) => string): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (MemoryError.is(error) || isAbort(error)) throw error;
    throw new MemoryError("UNAVAILABLE", tell(messageOf(error)), { cause: error });
  }
}

/** Locks a file of the state folder, see `acquireLock`. Throws `UNAVAILABLE` if the folder cannot be written. */
export async function acquireStateLock(file: string, options: LockOptions): Promise<ProcessLock> {
  const usable = <T>(run: () => Promise<T>): Promise<T> =>
    orUnavailable(run, (why) => {
      return `${file} cannot be written: ${why}; check the state folder, or name another one in MEMSLOT_HOME`;
    });
  const lock = await usable(() => acquireLock(file, options));
  return { release: () => usable(() => lock.release()) };
}

export async function withStateLock<T>(file: string, options: LockOptions, run: () => Promise<T>): Promise<T> {
  const lock = await acquireStateLock(file, options);
  try {
    return await run();
  } finally {
    await lock.release();
  }
}

/** Runs a step under the lock of a file; returns undefined at once if another process has that lock. */
export async function unlessLocked<T>(
  file: string,
  signal: AbortSignal,
  run: () => Promise<T>,
): Promise<T | undefined> {
  try {
    const busy = (): string => `another process works on ${file}`;
    return await withStateLock(`${file}.lock`, { waitMs: 0, busy, signal }, run);
  } catch (error) {
    if (MemoryError.is(error, "BUSY")) return undefined;
    throw error;
  }
}

export function busyFor(what: string, seconds: number, next = "try again"): LockOptions["busy"] {
  return (owner) =>
    `${what} locked by ${owner ? `process ${owner.pid}` : "another process"} for more than ${seconds} s; ${next}`;
}
