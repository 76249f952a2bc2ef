import type { CheckedSync } from "./call-arguments.ts";
import { type Extend, abortErrorOf } from "./deadline.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { ManagerSyncParams, SyncProgress, SyncReport } from "./manager.ts";

/** A sync that callers join: it goes on as long as one of them waits for it. */
interface Run {
  /** May be raised until the sync has started. */
  force: boolean;
  readonly reason: string;
  readonly abandoned: AbortController;
  readonly listeners: Set<(update: SyncProgress) => void>;
  lastProgress: SyncProgress | undefined;
  readonly outcome: Promise<SyncReport | undefined>;
}

export interface SingleSyncOptions {
  lifecycle: Lifecycle;
  /** Time without progress after which a sync is given up. */
  idleMs: number;
  /** Throws nothing at once: its errors come through the promise. */
  sync: (params: ManagerSyncParams) => Promise<SyncReport | undefined>;
}

/**
 * Makes one sync at a time of any number of calls. A later caller joins the one that runs; with `force` it waits for
 * the end of one that is not forced and starts its own, together with others that want the same. An abort detaches its
 * caller; the sync is aborted when the last caller has left.
 */
export function createSingleSync({
  lifecycle,
  idleMs,
  sync,
}: SingleSyncOptions): (params: CheckedSync, signal: AbortSignal | undefined) => Promise<SyncReport | undefined> {
  let current: Run | undefined;
  let next: Run | undefined;
  // The end of the sync that was started last, which may come long after its callers were told of an abort.
  let busy: Promise<unknown> = Promise.resolve();
  // Progress shows that a sync is at work, also to those that wait for its end.
  const clocks = new Set<Extend>();

  function begin({ force, reason }: CheckedSync): Run {
    const abandoned = new AbortController();
    const limits = {
      what: "sync",
      deadlineMs: idleMs,
      signals: [abandoned.signal],
      action: "nothing was reported in this time; what was synced is kept, so sync again",
    };
    const outcome = lifecycle.run(limits, async (signal, extend) => {
      clocks.add(extend);
      try {
        await busy;
        signal.throwIfAborted();
        [current, next] = [run, undefined];
        const work = sync({ reason, force: run.force, progress: (update) => report(run, update), signal });
        busy = work.catch(() => undefined);
        return await work;
      } finally {
        clocks.delete(extend);
      }
    });
    const run: Run = { force, reason, abandoned, listeners: new Set(), lastProgress: undefined, outcome };
    const forget = (): void => {
      if (current === run) current = undefined;
      if (next === run) next = undefined;
    };
    outcome.then(forget, forget);
    return run;
  }

  function report(run: Run, update: SyncProgress): void {
    run.lastProgress = update;
    for (const extend of clocks) extend();
    for (const listener of run.listeners) listener(update);
  }

  function choose(params: CheckedSync): Run {
    if (current && !current.abandoned.signal.aborted && (current.force || !params.force)) return current;
    if (next && !next.abandoned.signal.aborted) {
      next.force ||= params.force;
      return next;
    }
    next = begin(params);
    return next;
  }

  return async (params, signal) => {
    if (signal?.aborted) throw abortErrorOf(signal);
    return join(choose(params), params.progress, signal);
  };
}

async function join(
  run: Run,
  progress: CheckedSync["progress"],
  signal: AbortSignal | undefined,
): Promise<SyncReport | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<SyncReport | undefined>();
  const listener = (update: SyncProgress): void => {
    try {
      progress?.(update);
    } catch (error) {
      // One caller's mistake is told to that caller; the sync belongs to the others too.
      reject(error);
    }
  };
  const onAbort = (): void => {
    if (signal) reject(abortErrorOf(signal));
  };
  run.listeners.add(listener);
  signal?.addEventListener("abort", onAbort, { once: true });
  run.outcome.then(resolve, reject);
  if (run.lastProgress) listener(run.lastProgress);
  try {
    return await promise;
  } finally {
    signal?.removeEventListener("abort", onAbort);
    run.listeners.delete(listener);
    if (run.listeners.size === 0) run.abandoned.abort();
  }
}
