import { threadId } from "node:worker_threads";
import { type CompanionTables, noCompanion } from "../../store-search-tables.ts";

/** Tells in which thread it is, and does to it what no call should. */
export function createCompanion(): CompanionTables {
  return {
    ...noCompanion,
    settle: (input) => ({
      open: (parts) => ({
        ...noCompanion.settle(input).open(parts),
        calls: {
          thread: () => threadId,
          exit: () => process.exit(3),
          block: (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms),
        },
      }),
    }),
  };
}
