import { abortErrorOf, withDeadline } from "../guard/deadline.ts";
import { MemoryError } from "../contract/errors.ts";
import type { MemorySearchManager } from "../contract/manager.ts";
import { checkManager } from "../plugins/opened.ts";

/** A manager that is opened with the first need, and again with the next one where that has failed. */
export interface LazyManager {
  /** The open one. It stays to be asked for its status when it is closed. */
  current(): MemorySearchManager | undefined;
  /**
   * Callers share one opening, which goes on when one of them is aborted. Throws `UNAVAILABLE` after the deadline, and
   * `CLOSED` after `close`.
   */
  get(signal: AbortSignal | undefined): Promise<MemorySearchManager>;
  /** Aborts an opening that is on its way, waits for its end, and closes what is open. */
  close(): Promise<void>;
}

export function createLazyManager(input: {
  name: string;
  /** One that is open already. */
  manager?: MemorySearchManager | undefined;
  open: (signal: AbortSignal) => Promise<MemorySearchManager>;
  deadlineMs: number;
}): LazyManager {
  const { name, open, deadlineMs } = input;
  const closing = new AbortController();
  let manager = input.manager;
  let opening: Promise<MemorySearchManager> | undefined;
  /** What was really started, which may go on for a while after it was aborted. */
  let work: Promise<MemorySearchManager> | undefined;

  async function start(): Promise<MemorySearchManager> {
    const limits = { what: `opening "${name}"`, deadlineMs, signals: [closing.signal] };
    try {
      manager = await withDeadline(limits, (signal) => (work = openOne(signal)));
      return manager;
    } catch (error) {
      // What is past its deadline closes itself when it comes; nobody waits for it.
      if (!closing.signal.aborted) work = undefined;
      throw error;
    } finally {
      opening = undefined;
    }
  }

  async function openOne(signal: AbortSignal): Promise<MemorySearchManager> {
    const opened = await open(signal);
    if (signal.aborted) {
      await opened?.close?.();
      throw abortErrorOf(signal);
    }
    checkManager(name, opened);
    return opened;
  }

  return {
    current: () => manager,

    async get(signal) {
      if (closing.signal.aborted)
        throw new MemoryError("CLOSED", `"${name}" is closed; open the memory again to go on`);
      if (manager) return manager;
      opening ??= start();
      const shared = opening;
      shared.catch(() => undefined);
      return withDeadline({ what: `opening "${name}"`, signals: [signal] }, () => shared);
    },

    async close() {
      closing.abort(new MemoryError("CLOSED", `"${name}" was closed while it was being opened`));
      await work?.catch(() => undefined);
      await manager?.close?.();
    },
  };
}
