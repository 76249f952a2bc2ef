import { setTimeout as pause } from "node:timers/promises";
import { isConflict } from "../store-failure.ts";

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
