import { setTimeout as pause } from "node:timers/promises";
import pLimit from "p-limit";
import { isConflict } from "./store-failure.ts";

const firstPauseMs = 20;
const longestPauseMs = 2000;

/** Runs work again, at most so many times in all, where it has met the write of another process. */
export async function retryConflicts<Result>(work: () => Promise<Result>, attempts = 8): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === attempts || !isConflict(error)) throw error;
      // Two that meet do not meet again at the same moment.
      const longest = Math.min(longestPauseMs, firstPauseMs * 2 ** attempt);
      await pause(longest * (0.5 + Math.random() / 2));
    }
  }
}

/** Runs what writes, one piece after the other. A piece that meets the write of another process is run again, some times. */
export interface WriteQueue {
  run<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Waits for what is running and waiting now. */
  settled(): Promise<void>;
}

/** `met` is called after each such meeting. */
export function createWriteQueue(met: () => void): WriteQueue {
  const limit = pLimit(1);
  return {
    run: (work) =>
      limit(() =>
        retryConflicts(async () => {
          try {
            return await work();
          } catch (error) {
            // It may be another table by now, which two have made at once: what is open of it would meet it for ever.
            if (isConflict(error)) met();
            throw error;
          }
        }),
      ),
    settled: () => limit(() => undefined),
  };
}
