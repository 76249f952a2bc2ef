import { MemoryError, withDeadline } from "@memslot/core";

/** What came of a call with a time limit. An abort by the caller and the call's own errors are thrown. */
export type DeadlineOutcome<T> = { readonly timedOut: false; readonly value: T } | { readonly timedOut: true };

/** Runs a call that must end within `timeoutMs`, and tells its own time limit from one that passed below it. */
export async function inTime<T>(
  run: (signal: AbortSignal) => Promise<T>,
  limit: { timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<DeadlineOutcome<T>> {
  let inner: AbortSignal | undefined;
  try {
    const limits = { what: "the tool", deadlineMs: limit.timeoutMs, signals: [limit.signal] };
    const value = await withDeadline(limits, (signal) => {
      inner = signal;
      return run(signal);
    });
    return { timedOut: false, value };
  } catch (error) {
    if (MemoryError.is(error, "UNAVAILABLE") && inner?.aborted && inner.reason === error) return { timedOut: true };
    throw error;
  }
}
