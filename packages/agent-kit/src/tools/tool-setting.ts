import { type Memory, MemoryError, messageOf, withDeadline } from "@memslot/core";
import type { ChatType, CitationsMode } from "../citations.ts";

/** The options of `createMemoryTools` with every default filled in. */
export interface ToolSetting {
  /** Memory, or why it could not be opened. */
  readonly opened: { readonly memory: Memory } | { readonly error: unknown };
  readonly citations: CitationsMode;
  readonly chatType: ChatType;
  /** The session that asks; a group's where the host says that it is a group. */
  readonly sessionKey: string | undefined;
  /** True where others than the owner read along. */
  readonly shared: boolean;
  readonly deadlineMs: number;
  /** How long a search that failed is left alone. */
  readonly cooldownMs: number;
  readonly now: () => number;
}

/** Why a tool could not answer, for the model (`warning`) and for the person behind it (`action`). */
export interface FailureAdvice {
  error: string;
  warning: string;
  action: string;
}

const notEmpty =
  "Memory could not be searched. This says nothing about what the notes hold: do not answer that nothing is known.";

export function adviceForError(error: unknown, setting: Pick<ToolSetting, "shared">): FailureAdvice {
  const text = messageOf(error) || "unknown error";
  return { error: failureText(error, setting), warning: notEmpty, action: actionFor(error, text) };
}

/** What went wrong. Others who read along are told that something did: the message may name a private note. */
export function failureText(error: unknown, { shared }: Pick<ToolSetting, "shared">): string {
  if (shared && !isAboutTheCall(error)) return "memory is unavailable";
  return messageOf(error) || "unknown error";
}

/** Whether an error speaks of what was asked for, and of nothing else. */
export function isAboutTheCall(error: unknown): boolean {
  return MemoryError.is(error, "INVALID_ARGUMENT") || MemoryError.is(error, "PATH_NOT_ALLOWED");
}

export function adviceForTimeout(timeoutMs: number): FailureAdvice {
  return {
    error: `memory gave no answer within ${timeoutMs / 1000} s`,
    warning: notEmpty,
    action: "Answer without memory and say so. If it happens again, run `memslot memory status --deep`.",
  };
}

function actionFor(error: unknown, text: string): string {
  if (/\b429\b|quota|rate.?limit/i.test(text)) {
    return 'The embedding provider refuses more calls for now: check its quota, or set memorySearch.provider to "none" for keyword search.';
  }
  if (MemoryError.is(error, "BUSY")) return "Another process is at work on the index: try again in a moment.";
  if (MemoryError.is(error, "CLOSED")) return "The host has closed memory: it has to be opened again.";
  if (MemoryError.is(error, "WORKSPACE")) return "Check that the workspace folder is there and can be read.";
  if (MemoryError.is(error, "CONFIG") || MemoryError.is(error, "PLUGIN"))
    return "Run `memslot doctor` and mend what it names.";
  return "Run `memslot memory status --deep` to see what is wrong.";
}

/** What came of a call with a time limit. An abort by the caller and the call's own errors are thrown. */
type DeadlineOutcome<T> = { readonly timedOut: false; readonly value: T } | { readonly timedOut: true };

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
