import { asSentence, type Sentence } from "./sentences.ts";

/**
 * Code of a failure. Codes are API and follow semantic versioning; messages are for people and name the next step.
 *
 * | code               | meaning |
 * | ------------------ | ------- |
 * | `INVALID_ARGUMENT` | an argument of the wrong type or out of range, or a missing agent id |
 * | `CONFIG`           | an invalid configuration file, key, slot id or environment variable |
 * | `PLUGIN`           | a plugin that cannot be loaded or broke its contract |
 * | `WORKSPACE`        | a workspace folder that is missing or cannot be read |
 * | `PATH_NOT_ALLOWED` | a read outside the memory files |
 * | `UNAVAILABLE`      | a missing binary or module, a store that does not open, the network, a deadline |
 * | `BUSY`             | another process works on the same index, and the caller did not want to wait |
 * | `CLOSED`           | a call after `close()` |
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

const sentenceMark = Symbol.for("memslot.sentence");

/** An error whose message may be a sentence, so that it can be shown in another language. */
export class SentenceError extends Error {
  constructor(message: string | Sentence, options?: { cause?: unknown }) {
    super(asSentence(message).reason, options);
    Object.defineProperty(this, sentenceMark, { value: asSentence(message) });
  }
}

/** The message of any thrown value, with its code if it has one. */
export function sentenceOf(error: unknown): Sentence {
  const own: unknown = error instanceof Error && sentenceMark in error ? error[sentenceMark] : undefined;
  return (own as Sentence | undefined) ?? { reason: messageOf(error) };
}

const marker = Symbol.for("memslot.MemoryError");

/** The error of all failures. Test with `MemoryError.is`, which also works across two copies of this package. */
export class MemoryError extends SentenceError {
  readonly code: MemoryErrorCode;

  constructor(code: MemoryErrorCode, message: string | Sentence, options?: { cause?: unknown }) {
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

/** Whether an error is that of an aborted call (`AbortError`), which is never converted to a `MemoryError`. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

/** The message of any thrown value, on one line. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  // The message of a failed `fetch` is always the same: only its cause has the reason.
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

/** Converts any value thrown by a plugin to `UNAVAILABLE` or `PLUGIN`. A `MemoryError` is returned unchanged. */
export function pluginError(what: string, error: unknown): MemoryError {
  if (MemoryError.is(error)) return error;
  const code = isUnavailable(error) ? "UNAVAILABLE" : "PLUGIN";
  return new MemoryError(code, `${what}: ${messageOf(error)}`, { cause: error });
}
