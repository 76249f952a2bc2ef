import { MemoryError, isAbort } from "../contract/errors.ts";
import { sentence } from "../contract/sentences.ts";

/** How long a call of a memory may take before it fails with `UNAVAILABLE`. */
export interface MemoryDeadlines {
  /** 60 s: importing a plugin, making an embedding provider, opening a manager. */
  openMs: number;
  /** 30 s. */
  searchMs: number;
  /** 10 s. */
  readFileMs: number;
  /** 60 s. */
  probeMs: number;
  /** 10 min without progress. */
  syncIdleMs: number;
  /** 10 min: checking and compacting the index, which report no progress. */
  upkeepMs: number;
  /** 10 s for running calls to end, and 10 s for the manager to close. */
  closeMs: number;
}

/** All deadlines of memory calls. */
export const usualDeadlines: MemoryDeadlines = {
  openMs: 60_000,
  searchMs: 30_000,
  readFileMs: 10_000,
  probeMs: 60_000,
  syncIdleMs: 600_000,
  upkeepMs: 600_000,
  closeMs: 10_000,
};

export type Extend = () => void;

export interface CallLimits {
  what: string;
  /** After this time the call is rejected with `UNAVAILABLE`. Absent: the called function has its own deadline. */
  deadlineMs?: number | undefined;
  signals?: readonly (AbortSignal | undefined)[] | undefined;
  action?: string | undefined;
}

/** Runs a call with a deadline, also if it ignores its signal. Rejects with `AbortError` or `UNAVAILABLE`. */
export async function withDeadline<T>(
  limits: CallLimits,
  run: (signal: AbortSignal, extend: Extend) => Promise<T>,
): Promise<T> {
  const signals = (limits.signals ?? []).filter((signal) => signal !== undefined);
  const aborted = signals.find((signal) => signal.aborted);
  if (aborted) throw abortErrorOf(aborted);
  const controller = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const stop = (error: Error): void => {
    reject(error);
    controller.abort(error);
  };
  const onAbort = (event: Event): void => stop(abortErrorOf(event.target as AbortSignal));
  let ended = false;
  let timer: NodeJS.Timeout | undefined;
  const extend = (): void => {
    clearTimeout(timer);
    const { what, deadlineMs, action } = limits;
    if (!ended && deadlineMs !== undefined)
      timer = setTimeout(() => stop(deadlineError(what, deadlineMs, action)), deadlineMs);
  };
  extend();
  for (const signal of signals) signal.addEventListener("abort", onAbort, { once: true });
  const work = async (): Promise<T> => run(controller.signal, extend);
  work().then(resolve, reject);
  try {
    return await promise;
  } finally {
    ended = true;
    clearTimeout(timer);
    for (const signal of signals) signal.removeEventListener("abort", onAbort);
  }
}

/** Opens something with a deadline. If it opens too late, it is closed again. */
export async function openWithDeadline<T extends { close?(): Promise<void> }>(
  limits: CallLimits,
  open: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return withDeadline(limits, async (signal) => {
    const opened = await open(signal);
    if (signal.aborted) await opened?.close?.();
    return opened;
  });
}

function deadlineError(what: string, deadlineMs: number, action: string | undefined): MemoryError {
  const late = sentence("call.late", { what, seconds: deadlineMs / 1000 });
  return new MemoryError(
    "UNAVAILABLE",
    action === undefined ? late : sentence("list.more", { left: late, right: action }),
  );
}

/** The error of an aborted call: `CLOSED` if a memory was closed, else an `AbortError`. */
export function abortErrorOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  if (reason instanceof Error && (isAbort(reason) || MemoryError.is(reason, "CLOSED"))) return reason;
  return Object.assign(new DOMException("This operation was aborted", "AbortError"), { cause: reason });
}

interface CloseStep {
  what: string;
  free: () => Promise<void>;
}

export class Lifecycle {
  readonly #name: string;
  readonly #closeMs: number;
  readonly #closing = new AbortController();
  /** The started work, which may continue after its caller was rejected. */
  readonly #running = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  constructor(name: string, closeMs: number) {
    this.#name = name;
    this.#closeMs = closeMs;
  }

  /** Throws `CLOSED` after `close`. */
  assertOpen(): void {
    if (this.#closed) throw new MemoryError("CLOSED", `${this.#name} is closed; open it again`);
  }

  /** Throws `CLOSED` after `close`, and for a call that was running at that time. */
  async run<T>(limits: CallLimits, call: (signal: AbortSignal, extend: Extend) => Promise<T>): Promise<T> {
    this.assertOpen();
    const signals = [...(limits.signals ?? []), this.#closing.signal];
    return withDeadline({ ...limits, signals }, async (signal, extend) => {
      const work = call(signal, extend);
      this.#running.add(work);
      try {
        return await work;
      } finally {
        this.#running.delete(work);
      }
    });
  }

  /** Aborts running calls, waits for them, then runs every step with its own `closeMs`. Idempotent. */
  close(steps: readonly CloseStep[]): Promise<void> {
    return (this.#closed ??= this.#end(steps));
  }

  async #end(steps: readonly CloseStep[]): Promise<void> {
    const deadlineMs = this.#closeMs;
    this.#closing.abort(new MemoryError("CLOSED", `${this.#name} was closed while this call was running`));
    const ended = (): Promise<unknown> => Promise.allSettled(this.#running);
    // The only error here is the deadline of a call that ignores its abort. Its caller was rejected already.
    await withDeadline({ what: "ending the running calls", deadlineMs }, ended).catch(() => []);
    const errors: unknown[] = [];
    for (const { what, free } of steps)
      await withDeadline({ what, deadlineMs }, free).catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  }
}
