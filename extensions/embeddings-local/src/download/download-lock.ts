import { open, readFile, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

export interface LockOptions {
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

interface Holder {
  pid: number;
  host: string;
  since: string;
}

/**
 * Waits until no other process does the same work, and gives what ends the lock; `done` when the other one has done it.
 * A holder that has died, or does not get on, is not waited for. The lock only saves double work: two that hold it by
 * an unlucky chance do each other no harm.
 */
export async function takeLock(options: LockOptions): Promise<(() => Promise<void>) | "done"> {
  const { path, look, onWait, isDone, pollMs, takeOverMs, signal } = options;
  const own = JSON.stringify({ pid: process.pid, host: hostname(), since: new Date().toISOString() } satisfies Holder);
  let seen = -1;
  let seenAt = 0;
  for (;;) {
    signal.throwIfAborted();
    if (await isDone()) return "done";
    if (await create(path, own)) {
      // The one before may have come to its end between the two.
      if (!(await isDone())) return () => release(path, own);
      await release(path, own);
      return "done";
    }
    const now = performance.now();
    const present = await look();
    if (present !== seen) {
      [seen, seenAt] = [present, now];
      await onWait();
    }
    if ((await hasDied(path)) || now - seenAt > takeOverMs) await rm(path, { force: true });
    else await sleep(pollMs, undefined, { signal });
  }
}

async function create(path: string, content: string): Promise<boolean> {
  try {
    const file = await open(path, "wx", 0o600);
    try {
      await file.writeFile(content);
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

async function release(path: string, own: string): Promise<void> {
  const content = await readFile(path, "utf8").catch(() => "");
  if (content === own) await rm(path, { force: true });
}

/** Whether the holder is known to be gone. One on another machine that shares the folder cannot be looked at. */
async function hasDied(path: string): Promise<boolean> {
  const text = await readFile(path, "utf8").catch(() => "");
  let holder: Partial<Holder>;
  try {
    holder = JSON.parse(text) as Partial<Holder>;
  } catch {
    return false; // It is being written, or is just gone.
  }
  if (holder.host !== hostname() || typeof holder.pid !== "number") return false;
  try {
    process.kill(holder.pid, 0);
    return false;
  } catch (error) {
    // Anything else than "there is no such process" means that it is there and belongs to somebody else.
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}
