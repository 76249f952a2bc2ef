import { openWithDeadline } from "./deadline.ts";
import { MemoryError, isAbort, messageOf } from "./errors.ts";
import type { MemorySearchManager } from "./manager.ts";
import { type FallbackOptions, type FallbackSpare, withFallback } from "./with-fallback.ts";

export interface OpenWithFallbackOptions extends FallbackOptions {
  openMs: number;
  signal: AbortSignal;
  /** Told when the primary could not be opened. */
  notify: (line: string) => void;
}

/**
 * Opens the primary, or the spare where that is `UNAVAILABLE`: it is then opened again by the calls that try it. Throws
 * every other error of the primary, and `UNAVAILABLE` naming both where neither can be opened.
 */
export async function openWithFallback(
  primary: Pick<FallbackSpare, "name" | "open">,
  spare: Pick<FallbackSpare, "name" | "open">,
  { signal, notify, ...options }: OpenWithFallbackOptions,
): Promise<MemorySearchManager> {
  const opened = async ({ name, open }: Pick<FallbackSpare, "name" | "open">): Promise<MemorySearchManager> => {
    const limits = { what: `opening memory plugin "${name}"`, deadlineMs: options.openMs, signals: [signal] };
    return openWithDeadline(limits, (inner) => open(inner));
  };
  let failure: MemoryError;
  try {
    return withFallback({ name: primary.name, manager: await opened(primary) }, spare, options);
  } catch (error) {
    if (!MemoryError.is(error, "UNAVAILABLE")) throw error;
    failure = error;
  }
  const unavailable = `"${primary.name}" is unavailable: ${messageOf(failure)}`;
  try {
    const manager = await opened(spare);
    notify(`${unavailable}; "${spare.name}" answers in its place until it is back`);
    return withFallback({ ...primary, failure }, { ...spare, manager }, options);
  } catch (error) {
    if (isAbort(error) || MemoryError.is(error, "CLOSED")) throw error;
    const message = `${unavailable}; and its spare "${spare.name}" cannot be opened: ${messageOf(error)}`;
    throw new MemoryError("UNAVAILABLE", message, { cause: new AggregateError([failure, error], message) });
  }
}
