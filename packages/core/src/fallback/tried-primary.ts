import { type Admission, type BreakerOptions, type Outage, createBreaker } from "./breaker.ts";
import { type Extend, withDeadline } from "../guard/deadline.ts";
import { MemoryError, isAbort, isUnavailable, messageOf } from "../contract/errors.ts";
import type { LazyManager } from "../open/lazy-manager.ts";
import type { ManagerSearchOptions, MemorySearchResult } from "../contract/search.ts";
import type { MemorySearchManager } from "../contract/manager.ts";
import type { SearchReport } from "../contract/report.ts";

/** A call as it may reach a manager that does not work. */
interface PrimaryCall<T> {
  what: string;
  deadlineMs: number;
  signal: AbortSignal;
  /** Somebody waits for the answer, so that another one is better than a late one. False for a sync. */
  isQuestion: boolean;
  /** Called when half of the time is over, unless another one answers already. */
  onSlow?: (() => void) | undefined;
  run: (manager: MemorySearchManager, signal: AbortSignal, extend: Extend) => Promise<T>;
}

/** A manager behind a breaker. */
export interface TriedPrimary {
  outage(): Outage | undefined;
  /** The answer, or the outage because of which there is none. Throws what is not `UNAVAILABLE`. */
  ask<T>(call: PrimaryCall<T>): Promise<{ value: T } | { outage: Outage }>;
  /** Ends the tries that go on behind their calls, and closes the manager. */
  close(): Promise<void>;
}

export function createTriedPrimary(input: {
  name: string;
  manager: LazyManager;
  breaker: BreakerOptions;
  /** Why it could not be opened before. */
  failure: unknown;
  patienceMs: number;
}): TriedPrimary {
  const { name, manager, patienceMs } = input;
  const breaker = createBreaker(input.breaker);
  const closing = new AbortController();
  /** Tries that go on after their calls were answered by others. */
  const trials = new Set<Promise<unknown>>();
  if (input.failure !== undefined) breaker.trip(failureOf(input.failure));

  async function attempt<T>(
    admission: Admission,
    { what, deadlineMs, onSlow, run }: PrimaryCall<T>,
    signal: AbortSignal,
  ): Promise<{ value: T } | { outage: Outage }> {
    const slow = onSlow && !admission.isTrial ? setTimeout(onSlow, deadlineMs / 2) : undefined;
    try {
      const limits = { what: `${what} of "${name}"`, deadlineMs, signals: [signal, closing.signal] };
      const value = await withDeadline(limits, async (inner, extend) =>
        run(await open(admission, inner), inner, extend),
      );
      admission.succeeded();
      return { value };
    } catch (error) {
      if (isUnavailable(error)) return { outage: admission.failed(failureOf(error)) };
      admission.withdrawn();
      throw error;
    } finally {
      clearTimeout(slow);
    }
  }

  async function open({ isTrial }: Admission, signal: AbortSignal): Promise<MemorySearchManager> {
    try {
      return await manager.get(signal);
    } catch (error) {
      // Another one answers already: whatever keeps this one from being opened again is told as the reason.
      if (!isTrial || isAbort(error) || MemoryError.is(error, "CLOSED")) throw error;
      throw new MemoryError("UNAVAILABLE", messageOf(error), { cause: error });
    }
  }

  /** Tries with a call that does not wait for long. The caller's abort ends the try as long as the caller waits for it. */
  async function tryBriefly<T>(
    admission: Admission,
    call: PrimaryCall<T>,
    outage: Outage,
  ): Promise<{ value: T } | { outage: Outage }> {
    const own = new AbortController();
    const onAbort = (): void => own.abort(call.signal.reason);
    if (call.signal.aborted) onAbort();
    call.signal.addEventListener("abort", onAbort, { once: true });
    const trial = attempt(admission, call, own.signal);
    try {
      const answer = await within(patienceMs, trial);
      if (answer !== undefined) return answer;
    } finally {
      call.signal.removeEventListener("abort", onAbort);
    }
    trials.add(trial);
    const forget = (): unknown => trials.delete(trial);
    // What comes of it is known to the breaker.
    trial.then(forget, forget);
    return { outage };
  }

  return {
    outage: breaker.outage,

    async ask(call) {
      const { admission, outage } = breaker.admit({ what: call.what, isMain: call.what === "search" });
      if (admission === undefined) return { outage };
      if (outage === undefined || !call.isQuestion) return attempt(admission, call, call.signal);
      return tryBriefly(admission, call, outage);
    },

    async close() {
      closing.abort(new MemoryError("CLOSED", `"${name}" was closed`));
      await Promise.allSettled(trials);
      await manager.close();
    },
  };
}

/** A search with its report held back: that of a search which fails is not the one that counts. */
export interface Answer {
  results: MemorySearchResult[];
  report: SearchReport | undefined;
}

export async function searchWith(
  manager: MemorySearchManager,
  query: string,
  options: ManagerSearchOptions,
): Promise<Answer> {
  let report: SearchReport | undefined;
  const onDebug = (given: SearchReport): void => {
    report = given;
  };
  const results = await manager.search(query, { ...options, onDebug });
  return { results, report };
}

function failureOf(error: unknown): { reason: string; error: unknown } {
  return { reason: messageOf(error), error };
}

/** What comes of a promise in this time; undefined where it takes longer. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
