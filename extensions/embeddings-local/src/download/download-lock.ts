import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { MemoryError } from "@memslot/core";
import { acquireLock } from "@memslot/core/files";

export interface DownloadLockOptions {
  path: string;
  /** A number that changes while the lock owner works. */
  look: () => Promise<number>;
  onWait: () => Promise<void>;
  /** True if the work is complete. */
  isDone: () => Promise<boolean>;
  pollMs: number;
  /** A lock owner without progress for this time loses the lock. */
  takeOverMs: number;
  signal: AbortSignal;
}

/**
 * Waits until no other process does the same work. Returns the release, or `done` if another process has done it. Two
 * owners at once only do the work twice.
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
      // The previous owner may have finished in between.
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

async function tryLock(path: string, signal: AbortSignal): Promise<(() => Promise<void>) | undefined> {
  try {
    const lock = await acquireLock(path, { waitMs: 0, busy: () => `${path} is held`, signal });
    return () => lock.release();
  } catch (error) {
    if (MemoryError.is(error, "BUSY")) return undefined;
    throw error;
  }
}
