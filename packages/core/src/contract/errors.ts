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
 * | `UNAVAILABLE`      | binary missing, native module will not load, store cannot open, network error, deadline passed: a spare answers. It also does for a plugin that cannot be loaded or opened for any reason but `CONFIG`, `WORKSPACE` and `BUSY` |
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
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  // The words of a failed `fetch` say nothing: its cause does.
  if (error instanceof Error && error.message === "fetch failed" && error.cause instanceof Error)
    return `fetch failed: ${messageOf(error.cause)}`;
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.replaceAll(/\s*\n\s*/g, " ").trim();
}

const networkCode =
  /^(?:E(?:CONN|HOST|NET)(?:REFUSED|RESET|ABORTED|UNREACH|DOWN)|ENOTFOUND|EAI_[A-Z]+|E(?:SOCKET)?TIMEDOUT|EPIPE|UND_ERR_(?!INVALID|NOT_SUPPORTED|ABORTED)[A-Z_]+)$/;
const networkWords =
  /\b(?:connect|read|write|getaddrinfo|query[A-Za-z]+) E(?!NOENT|ACCES|PERM|ISDIR|BADF|INVAL)[A-Z_]+\b/;

/** True for `UNAVAILABLE` and for network errors, also as a nested cause or inside an `AggregateError`. */
export function isUnavailable(error: unknown, depth = 0): boolean {
  if (MemoryError.is(error)) return error.code === "UNAVAILABLE";
  if (typeof error !== "object" || error === null || isAbort(error) || depth > 8) return false;
  const { code, syscall, errors, cause, message } = error as Record<string, unknown>;
  if (networkCode.test(String(code)) || networkWords.test(String(message))) return true;
  if (syscall === "connect" || syscall === "getaddrinfo") return true;
  const inside: readonly unknown[] = Array.isArray(errors) ? errors : [];
  return [cause, ...inside].some((each) => isUnavailable(each, depth + 1));
}

/** What a caller is told of anything that a plugin threw. A `MemoryError` stays what it is. */
export function pluginError(what: string, error: unknown): MemoryError {
  if (MemoryError.is(error)) return error;
  const code = isUnavailable(error) ? "UNAVAILABLE" : "PLUGIN";
  return new MemoryError(code, `${what}: ${messageOf(error)}`, { cause: error });
}
