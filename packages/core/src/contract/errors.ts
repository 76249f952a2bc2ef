/**
 * Every failure that a caller can act on. The code is API and follows semantic versioning; the message is for people
 * and names their next step.
 *
 * | code               | means                                                                                     |
 * | ------------------ | ----------------------------------------------------------------------------------------- |
 * | `INVALID_ARGUMENT` | a call with an argument of the wrong type or out of range, or a missing agent id          |
 * | `CONFIG`           | a configuration file, key, slot id or environment variable that cannot be used            |
 * | `PLUGIN`           | a plugin that cannot be loaded, or that broke its contract                                |
 * | `WORKSPACE`        | a workspace folder that is missing or cannot be read or written                                    |
 * | `PATH_NOT_ALLOWED` | a read outside the memory files                                                           |
 * | `UNAVAILABLE`      | binary missing, native module will not load, store cannot open, deadline passed: a spare answers. It also does for a plugin that cannot be loaded or opened for any reason but `CONFIG`, `WORKSPACE` and `BUSY` |
 * | `BUSY`             | another process is at work on the same index, and the caller did not want to wait for it   |
 * | `CLOSED`           | a call after `close()`                                                                    |
 */
export type MemoryErrorCode =
  | "INVALID_ARGUMENT"
  | "CONFIG"
  | "PLUGIN"
  | "WORKSPACE"
  | "PATH_NOT_ALLOWED"
  | "UNAVAILABLE"
  | "BUSY"
  | "CLOSED";

const marker = Symbol.for("memslot.MemoryError");

/** The one error class. Recognise it with `MemoryError.is`, which also works across two copies of this package. */
export class MemoryError extends Error {
  readonly code: MemoryErrorCode;

  constructor(code: MemoryErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "MemoryError";
    this.code = code;
    Object.defineProperty(this, marker, { value: true });
  }

  static is(value: unknown, code?: MemoryErrorCode): value is MemoryError {
    if (typeof value !== "object" || value === null || !(marker in value)) return false;
    return code === undefined || ("code" in value && value.code === code);
  }
}

/** True for the error of an aborted call, which keeps its web name and is never turned into a `MemoryError`. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

/** The message of anything that was thrown, on one line. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/\s*\n\s*/g, " ").trim();
}
