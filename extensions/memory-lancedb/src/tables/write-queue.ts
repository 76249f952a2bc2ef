import pLimit from "p-limit";
import { retryConflicts } from "./retry-conflicts.ts";

/** Runs what writes, one piece after the other. A piece that meets the write of another process is run again, some times. */
export interface WriteQueue {
  run<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Waits for what is running and waiting now. */
  settled(): Promise<void>;
}

export function createWriteQueue(): WriteQueue {
  const limit = pLimit(1);
  return {
    run: (work) => limit(() => retryConflicts(work)),
    settled: () => limit(() => undefined),
  };
}
