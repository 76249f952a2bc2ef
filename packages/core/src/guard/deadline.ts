import { MemoryError, isAbort } from "../contract/errors.ts";

/** Starts the time of a call again: it is at work. */
export type Extend = () => void;

export interface CallLimits {
  /** Names the call in the error message. */
  what: string;
  /** No answer after this time is `UNAVAILABLE`. Left out where what is called keeps a deadline itself. */
  deadlineMs?: number | undefined;
  /** Any of these aborts the call. */
  signals?: readonly (AbortSignal | undefined)[] | undefined;
  /** What a person can do when the time is over. */
  action?: string | undefined;
}

/**
 * Runs a call that ends in time, also when the called side listens to no signal: an abort gives an `AbortError` and
 * the deadline an `UNAVAILABLE` error at once, and the signal that the call was given is aborted.
 */
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
  // Inside an async function an error that is thrown at once takes the same way. A late one has its handler too.
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

/** Opens something in time. What opens too late, when nobody waits for it any more, is closed again. */
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
  const text = `${what} gave no answer within ${deadlineMs / 1000} s`;
  return new MemoryError("UNAVAILABLE", action === undefined ? text : `${text}; ${action}`);
}

/** The error of an aborted call: an `AbortError` whatever reason was given, but `CLOSED` where a memory was closed. */
export function abortErrorOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  if (reason instanceof Error && (isAbort(reason) || MemoryError.is(reason, "CLOSED"))) return reason;
  return Object.assign(new DOMException("This operation was aborted", "AbortError"), { cause: reason });
}
