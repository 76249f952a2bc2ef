import { openWithDeadline } from "../guard/deadline.ts";
import { MemoryError, type MemoryErrorCode, isAbort, messageOf } from "../contract/errors.ts";
import type { MemorySearchManager } from "../contract/manager.ts";
import { checkManager } from "../plugins/opened.ts";
import type { FallbackSpare } from "./asked-spare.ts";
import { type FallbackOptions, withFallback } from "./with-fallback.ts";

export interface OpenWithFallbackOptions extends FallbackOptions {
  openMs: number;
  signal: AbortSignal;
  /** Told when the primary could not be opened. */
  notify: (line: string) => void;
}

/** What the user has to mend, or what another process does: a spare would hide it. */
const notCovered: readonly MemoryErrorCode[] = [
  "CONFIG",
  "WORKSPACE",
  "BUSY",
  "INVALID_ARGUMENT",
  "PATH_NOT_ALLOWED",
  "CLOSED",
];

/**
 * Opens the primary, or the spare where that cannot be opened, whatever it throws: it is then opened again by the calls
 * that try it. Throws the errors of the primary that are for the user to mend, those of an abort, and `UNAVAILABLE`
 * naming both where neither can be opened.
 */
export async function openWithFallback(
  primary: Pick<FallbackSpare, "name" | "open">,
  spare: Pick<FallbackSpare, "name" | "open">,
  { signal, notify, ...options }: OpenWithFallbackOptions,
): Promise<MemorySearchManager> {
  const opened = async ({ name, open }: Pick<FallbackSpare, "name" | "open">): Promise<MemorySearchManager> => {
    const limits = { what: `opening memory plugin "${name}"`, deadlineMs: options.openMs, signals: [signal] };
    return openWithDeadline(limits, async (inner) => {
      const manager = await open(inner);
      checkManager(name, manager);
      return manager;
    });
  };
  let failure: MemoryError;
  try {
    return withFallback({ name: primary.name, manager: await opened(primary) }, spare, options);
  } catch (error) {
    if (signal.aborted || notCovered.some((code) => MemoryError.is(error, code))) throw error;
    failure = outageOf(primary.name, error);
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

/** A plugin that breaks when it is opened is as good as none that is there. */
function outageOf(name: string, error: unknown): MemoryError {
  if (MemoryError.is(error, "UNAVAILABLE")) return error;
  const message = MemoryError.is(error)
    ? error.message
    : `memory plugin "${name}" could not be opened: ${messageOf(error)}`;
  return new MemoryError("UNAVAILABLE", message, { cause: error });
}
