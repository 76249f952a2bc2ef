import { type CallLimits, type Extend, withDeadline } from "./deadline.ts";
import { MemoryError } from "../contract/errors.ts";

/** Open until closed: runs calls, and ends them when it is closed. */
export interface Lifecycle {
  /** Throws `CLOSED` after `close`. */
  assertOpen(): void;
  /** Throws `CLOSED` after `close`, and for a call that was running at that time. */
  run<T>(limits: CallLimits, call: (signal: AbortSignal, extend: Extend) => Promise<T>): Promise<T>;
  /**
   * Aborts what is running, waits for it to end, then takes the steps one after the other, each of them also when one
   * before it failed. Each has `closeMs`. Every later call gets the promise of the first.
   */
  close(steps: readonly CloseStep[]): Promise<void>;
}

interface CloseStep {
  what: string;
  free: () => Promise<void>;
}

export function createLifecycle(name: string, closeMs: number): Lifecycle {
  const closing = new AbortController();
  // What was really started, which may go on after its caller was told of an abort.
  const running = new Set<Promise<unknown>>();
  let closed: Promise<void> | undefined;

  async function end(steps: readonly CloseStep[]): Promise<void> {
    closing.abort(new MemoryError("CLOSED", `${name} was closed while this call was running`));
    // The one error here is the deadline: a call that listens to no abort. Its caller knows already, closing goes on.
    await withDeadline({ what: "ending the running calls", deadlineMs: closeMs }, () =>
      Promise.allSettled(running),
    ).catch(() => []);
    const errors: unknown[] = [];
    for (const { what, free } of steps)
      await withDeadline({ what, deadlineMs: closeMs }, free).catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  }

  function assertOpen(): void {
    if (closed) throw new MemoryError("CLOSED", `${name} is closed; open it again to go on`);
  }

  return {
    assertOpen,

    async run(limits, call) {
      assertOpen();
      const signals = [...(limits.signals ?? []), closing.signal];
      return withDeadline({ ...limits, signals }, async (signal, extend) => {
        const work = call(signal, extend);
        running.add(work);
        try {
          return await work;
        } finally {
          running.delete(work);
        }
      });
    },

    close(steps) {
      closed ??= end(steps);
      return closed;
    },
  };
}
