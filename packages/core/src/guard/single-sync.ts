import { SerialQueue } from "../async-helpers.ts";
import type { CheckedSync } from "./arguments.ts";
import { type Extend, type Lifecycle, abortErrorOf, withDeadline } from "./deadline.ts";
import type { ManagerSyncParams, SessionTarget } from "../contract/manager.ts";
import type { SyncProgress, SyncReport } from "../contract/status.ts";

interface Run {
  /** True once it scans the files. Until then callers can join it, and `force`, `wait` and `sessions` may grow. */
  started: boolean;
  force: boolean;
  wait: boolean;
  sessions: readonly SessionTarget[] | undefined;
  readonly abandoned: AbortController;
  readonly listeners: Set<(update: SyncProgress) => void>;
  readonly outcome: Promise<SyncReport | undefined>;
}

type Wanted = Pick<CheckedSync, "force" | "wait" | "sessions">;

/** Runs one sync at a time. Later callers share the next run if it covers theirs (`force`, `sessions`, `wait`). */
export class SingleSync {
  readonly #lifecycle: Lifecycle;
  readonly #idleMs: number;
  readonly #sync: (params: ManagerSyncParams) => Promise<SyncReport | undefined>;
  #runs: readonly Run[] = [];
  readonly #turns = new SerialQueue();
  readonly #clocks = new Set<Extend>();
  #lastProgress: SyncProgress | undefined;

  /** Gives up a sync that makes no progress for `idleMs`. */
  constructor(
    lifecycle: Lifecycle,
    idleMs: number,
    sync: (params: ManagerSyncParams) => Promise<SyncReport | undefined>,
  ) {
    this.#lifecycle = lifecycle;
    this.#idleMs = idleMs;
    this.#sync = sync;
  }

  async run(params: CheckedSync, signal: AbortSignal | undefined): Promise<SyncReport | undefined> {
    if (signal?.aborted) throw abortErrorOf(signal);
    const open = this.#runs.filter(({ started, abandoned }) => !started && !abandoned.signal.aborted);
    const run = open.find((other) => does(other, params)) ?? open.find((other) => grow(other, params));
    return join(run ?? this.#begin(params), params.progress, this.#lastProgress, signal);
  }

  #begin({ force, wait, sessions, reason }: CheckedSync): Run {
    const abandoned = new AbortController();
    const limits = {
      what: "sync",
      deadlineMs: this.#idleMs,
      signals: [abandoned.signal],
      action: "nothing was reported in this time; what was synced is kept, so sync again",
    };
    const outcome = this.#lifecycle.run(limits, async (signal, extend) => {
      this.#clocks.add(extend);
      try {
        return await this.#turns.run(async () => {
          signal.throwIfAborted();
          run.started = true;
          this.#lastProgress = undefined;
          return await this.#sync({ reason, ...wantedOf(run), progress: (update) => this.#report(update), signal });
        });
      } finally {
        this.#clocks.delete(extend);
      }
    });
    const run: Run = { started: false, force, wait, sessions, abandoned, listeners: new Set(), outcome };
    this.#runs = [...this.#runs, run];
    const forget = (): void => {
      this.#runs = this.#runs.filter((other) => other !== run);
      if (this.#runs.length === 0) this.#lastProgress = undefined;
    };
    outcome.then(forget, forget);
    return run;
  }

  #report(update: SyncProgress): void {
    this.#lastProgress = update;
    for (const extend of this.#clocks) extend();
    for (const { listeners } of this.#runs) for (const listener of listeners) listener(update);
  }
}

function wantedOf({ force, wait, sessions }: Wanted): Wanted {
  return { force, wait, ...(sessions === undefined ? {} : { sessions }) };
}

function does(run: Run, { force, wait, sessions }: Wanted): boolean {
  if ((force && !run.force) || (wait && !run.wait)) return false;
  if (run.sessions === undefined) return sessions === undefined || run.force;
  const taken = new Set(run.sessions.map(nameOf));
  return sessions?.every((session) => taken.has(nameOf(session))) === true;
}

function grow(run: Run, { force, wait, sessions }: Wanted): boolean {
  if ((run.sessions === undefined) !== (sessions === undefined)) return false;
  run.force ||= force;
  run.wait ||= wait;
  if (run.sessions && sessions)
    run.sessions = [...new Map([...run.sessions, ...sessions].map((session) => [nameOf(session), session])).values()];
  return true;
}

function nameOf({ sessionId, sessionKey }: SessionTarget): string {
  return JSON.stringify([sessionId, sessionKey]);
}

async function join(
  run: Run,
  progress: CheckedSync["progress"],
  lastProgress: SyncProgress | undefined,
  signal: AbortSignal | undefined,
): Promise<SyncReport | undefined> {
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  const listener = (update: SyncProgress): void => {
    try {
      progress?.(update);
    } catch (error) {
      // The error of one caller's listener rejects that caller only: the sync belongs to the others too.
      failed.reject(error);
    }
  };
  run.listeners.add(listener);
  if (lastProgress) listener(lastProgress);
  try {
    return await withDeadline({ what: "sync", signals: [signal] }, () => Promise.race([run.outcome, failed.promise]));
  } finally {
    run.listeners.delete(listener);
    if (run.listeners.size === 0) run.abandoned.abort();
  }
}
