import { isAbort, MemoryError } from "@memslot/core";
import { sentence } from "@memslot/core/host";
import table from "./failure-reasons.json" with { type: "json" };

export type QmdFailureReason = keyof typeof table;

const reasons: Readonly<Record<QmdFailureReason, { action?: string; words?: string }>> = table;
const reasonNames = Object.keys(table) as QmdFailureReason[];

/** A failure of qmd. An abort is never one: it stays an `AbortError`. */
export class QmdFailure extends Error {
  override readonly name = "QmdFailure";
  readonly reason: QmdFailureReason;
  readonly action: string | undefined;

  constructor(reason: QmdFailureReason, message: string, options?: { action?: string; cause?: unknown }) {
    super(message, { cause: options?.cause });
    this.reason = reason;
    this.action = options?.action ?? reasons[reason].action;
  }
}

export interface ProcessEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

const crashSignals: ReadonlySet<unknown> = new Set("SIGSEGV SIGABRT SIGBUS SIGILL SIGFPE SIGTRAP SIGSYS".split(" "));
const crashCodes: ReadonlySet<unknown> = new Set([132, 133, 134, 135, 136, 139]);

export function failureOfEnd(what: string, { code, signal }: ProcessEnd, stderr: string): QmdFailure {
  const how = signal === null ? `ended with code ${code}` : `ended with ${signal}`;
  const words = failureLine(stderr);
  const message = `${what} ${how}${words === "" ? "" : `: ${words}`}`;
  if (crashSignals.has(signal) || crashCodes.has(code)) return new QmdFailure("crash", message);
  // A server that exits by itself with 0 has failed too.
  const hasCrashed = signal !== null || code === 0 || (code !== null && code > 128);
  return new QmdFailure(reasonIn(stderr) ?? (hasCrashed ? "crash" : "qmd_error"), message);
}

export function failureOfWords(what: string, words: string): QmdFailure {
  return new QmdFailure(reasonIn(words) ?? "qmd_error", `${what} failed: ${failureLine(words)}`);
}

function reasonIn(text: string): QmdFailureReason | undefined {
  const report = withoutProgress(text);
  return reasonNames.find((name) => {
    const { words } = reasons[name];
    return words !== undefined && new RegExp(words).test(report);
  });
}

/** The progress of a search repeats the query, which may contain the words of a failure. */
function withoutProgress(text: string): string {
  return text
    .split("\n")
    .filter((line) => !/^\s*[├└│]/.test(line) && !line.startsWith("Structured search:"))
    .join("\n");
}

const failureLineLength = 300;

/** The last line that names an error, else the last line that is no stack frame. */
function failureLine(text: string): string {
  const lines = withoutProgress(text)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("at ") && !line.startsWith("Node.js v"));
  const error = lines.findLast(
    (line) => /error|failed|not found|cannot/i.test(line) && !line.startsWith("Cannot find package"),
  );
  return (error ?? lines.at(-1) ?? "").slice(0, failureLineLength);
}

/** Converts a `QmdFailure` to the `MemoryError` that opens the fallback backend. Other errors stay as they are. */
export function toMemoryError(error: unknown): unknown {
  if (isAbort(error) || !(error instanceof QmdFailure)) return error;
  if (error.reason === "closed") return new MemoryError("CLOSED", error.message, { cause: error });
  const failed = sentence("qmd.failed", { reason: error.reason, error: error.message });
  const { action } = error;
  const why = action === undefined ? failed : sentence("list.more", { left: failed, right: action });
  return new MemoryError("UNAVAILABLE", why, { cause: error });
}
