import type { SyncProgress } from "@memslot/core";

export interface RunCaller {
  signal?: AbortSignal | undefined;
  progress?: ((update: SyncProgress) => void) | undefined;
}

/**
 * Work that runs once at a time. Later callers join and get its progress; an aborted caller leaves at once, and the
 * work is aborted when all have left. A failed run can be repeated.
 */
export function createSharedRun(
  work: (context: { signal: AbortSignal; progress: (update: SyncProgress) => void }) => Promise<void>,
): (caller: RunCaller) => Promise<void> {
  interface Run {
    done: Promise<void>;
    controller: AbortController;
    callers: Set<RunCaller>;
    latest: SyncProgress | undefined;
  }
  let current: Run | undefined;

  function begin(): Run {
    const controller = new AbortController();
    const callers = new Set<RunCaller>();
    const progress = (update: SyncProgress): void => {
      run.latest = update;
      for (const caller of callers) caller.progress?.(update);
    };
    const run: Run = { done: Promise.resolve(), controller, callers, latest: undefined };
    run.done = work({ signal: controller.signal, progress }).finally(() => {
      if (current === run) current = undefined;
    });
    run.done.catch(() => undefined);
    return run;
  }

  return async (caller) => {
    caller.signal?.throwIfAborted();
    const run = (current ??= begin());
    run.callers.add(caller);
    if (run.latest !== undefined) caller.progress?.(run.latest);
    try {
      await untilAborted(run.done, caller.signal);
    } finally {
      run.callers.delete(caller);
      if (run.callers.size === 0) {
        // The next caller starts a new run and does not join an aborted one.
        if (current === run) current = undefined;
        run.controller.abort();
      }
    }
  };
}

export async function untilAborted<Result>(promise: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return promise;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
