import type { DropReceipt } from "./flush-report.ts";
import type { MemoryFlush } from "./memory-flush.ts";

/** The flush of a session in which nothing is saved, and which says why. */
export function noFlush(state: DropReceipt["state"], reason: string): MemoryFlush {
  return {
    afterTurn: () => ({ flush: false, reason }),
    beforeDrop: async (_messages, { signal } = {}) => {
      signal?.throwIfAborted();
      return { state, reason, messages: 0 };
    },
    retry: () => undefined,
    settled: async () => undefined,
    status: { pending: 0, notices: [] },
    close: async () => undefined,
  };
}
