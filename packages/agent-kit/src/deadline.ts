import { isAbort } from "@memslot/core";

/** What came of a call with a time limit. An abort by the caller and the call's own errors are thrown. */
export type DeadlineOutcome<T> = { readonly timedOut: false; readonly value: T } | { readonly timedOut: true };

/** Runs a call that must end within `timeoutMs`, also when it does not listen to its signal. */
export async function withDeadline<T>(
  run: (signal: AbortSignal) => Promise<T>,
  limit: { timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<DeadlineOutcome<T>> {
  const caller = limit.signal;
  if (caller?.aborted) throw abortErrorOf(caller);
  const controller = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<DeadlineOutcome<T>>();
  const timer = setTimeout(() => {
    resolve({ timedOut: true });
    controller.abort();
  }, limit.timeoutMs);
  const onAbort = (): void => {
    if (caller) reject(abortErrorOf(caller));
    controller.abort();
  };
  caller?.addEventListener("abort", onAbort, { once: true });
  // Started inside a promise, so that an error thrown at once takes the same way; a late one has its handler too.
  Promise.resolve()
    .then(() => run(controller.signal))
    .then((value) => resolve({ timedOut: false, value }), reject);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    caller?.removeEventListener("abort", onAbort);
  }
}

/** An abort keeps its web name, whatever reason the caller gave. */
function abortErrorOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  if (reason instanceof Error && isAbort(reason)) return reason;
  const error = new Error("The operation was aborted", { cause: reason });
  error.name = "AbortError";
  return error;
}
