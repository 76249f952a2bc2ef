import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { MemoryError } from "@memslot/core";
import { acquireLock } from "@memslot/core/files";

export interface DownloadLockOptions {
  path: string;
  /** A number that changes while the holder is at work. */
  look: () => Promise<number>;
  /** Called whenever the holder has got on. */
  onWait: () => Promise<void>;
  /** True when there is nothing left to do. */
  isDone: () => Promise<boolean>;
  pollMs: number;
  /** A holder that does not get on for this time has lost the lock. */
  takeOverMs: number;
  signal: AbortSignal;
}

/**
 * Waits until no other process does the same work, and gives what ends the lock; `done` when the other one has done it.
 * A holder that has died, or does not get on, is not waited for. The lock only saves double work: two that hold it by
 * an unlucky chance, as one that did not get on and comes back, do each other no harm.
 */
export async function takeLock(options: DownloadLockOptions): Promise<(() => Promise<void>) | "done"> {
  const { path, look, onWait, isDone, pollMs, takeOverMs, signal } = options;
  let seen = -1;
  let seenAt = 0;
  for (;;) {
    signal.throwIfAborted();
    if (await isDone()) return "done";
    const release = await tryLock(path, signal);
    if (release !== undefined) {
      // The one before may have come to its end between the two.
      if (!(await isDone())) return release;
      await release();
      return "done";
    }
    const now = performance.now();
    const present = await look();
    if (present !== seen) {
      [seen, seenAt] = [present, now];
      await onWait();
    }
    if (now - seenAt > takeOverMs) await rm(path, { force: true });
    else await sleep(pollMs, undefined, { signal });
  }
}

/** Undefined if another running process owns it. */
async function tryLock(path: string, signal: AbortSignal): Promise<(() => Promise<void>) | undefined> {
  try {
    const lock = await acquireLock(path, { waitMs: 0, busy: () => `${path} is held`, signal });
    return () => lock.release();
  } catch (error) {
    if (MemoryError.is(error, "BUSY")) return undefined;
    throw error;
  }
}
