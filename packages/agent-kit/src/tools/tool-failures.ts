import { type Memory, MemoryError, messageOf, withDeadline } from "@memslot/core";
import type { ChatType, CitationsMode } from "../citations.ts";
import type { MemoryToolResult } from "./tool-types.ts";

/** The options of `createMemoryTools` with their defaults. */
export interface ToolSetting {
  /** Memory, or why it could not be opened. */
  readonly opened: { readonly memory: Memory } | { readonly error: unknown };
  readonly citations: CitationsMode;
  readonly chatType: ChatType;
  /** The key of the session; that of a group if the host says that it is a group. */
  readonly sessionKey: string | undefined;
  /** True if others than the owner read the session. */
  readonly shared: boolean;
  readonly deadlineMs: number;
  /** How long a failed search is not tried again. */
  readonly cooldownMs: number;
  readonly now: () => number;
}

/** Why a tool could not answer, for the model (`warning`) and for the user (`action`). */
export interface FailureAdvice {
  error: string;
  warning: string;
  action: string;
}

const warning =
  "Memory could not be searched. This says nothing about what the notes hold: do not answer that nothing is known.";

export function adviceForError(error: unknown, setting: Pick<ToolSetting, "shared">): FailureAdvice {
  return { error: failureText(error, setting), warning, action: actionFor(error, textOf(error)) };
}

export function adviceForTimeout(timeoutMs: number): FailureAdvice {
  const error = `memory gave no answer within ${timeoutMs / 1000} s`;
  const action = "Answer without memory and say so. If it happens again, run `memslot memory status --deep`.";
  return { error, warning, action };
}

/** The message of an error. A shared session does not get it: it may name a private note. */
export function failureText(error: unknown, { shared }: Pick<ToolSetting, "shared">): string {
  return shared && !isAboutTheCall(error) ? "memory is unavailable" : textOf(error);
}

function textOf(error: unknown): string {
  return messageOf(error) || "unknown error";
}

/** Whether an error is about the arguments of the call and nothing else. */
export function isAboutTheCall(error: unknown): boolean {
  return MemoryError.is(error, "INVALID_ARGUMENT") || MemoryError.is(error, "PATH_NOT_ALLOWED");
}

function actionFor(error: unknown, text: string): string {
  if (/\b429\b|quota|rate.?limit/i.test(text)) {
    return 'The embedding provider refuses more calls for now: check its quota, or set memorySearch.provider to "none" for keyword search.';
  }
  if (MemoryError.is(error, "BUSY")) return "Another process works on the index: try again in a moment.";
  if (MemoryError.is(error, "CLOSED")) return "The host has closed memory: it has to be opened again.";
  if (MemoryError.is(error, "WORKSPACE")) return "Check that the workspace folder exists and can be read.";
  if (MemoryError.is(error, "CONFIG") || MemoryError.is(error, "PLUGIN"))
    return "Run `memslot doctor` and repair what it names.";
  return "Run `memslot memory status --deep` to see what is wrong.";
}

export function failure(error: unknown, more: MemoryToolResult): MemoryToolResult {
  return { status: "error", code: codeOf(error), error: textOf(error), ...more };
}

export function codeOf(error: unknown): string {
  return MemoryError.is(error) ? error.code : "UNAVAILABLE";
}

/** The answer of a tool whose write was not confirmed in time. */
export function lateAnswer(what: string, timeoutMs: number, action: string): MemoryToolResult {
  const error = `${what} was not on disk within ${timeoutMs / 1000} s`;
  return { status: "error", code: "UNAVAILABLE", error, timedOut: true, timeoutMs, action };
}

type DeadlineOutcome<T> = { readonly timedOut: false; readonly value: T } | { readonly timedOut: true };

/** Runs a call with a deadline, and distinguishes this deadline from others below it. Throws the errors of the call and its abort. */
export async function inTime<T>(
  run: (signal: AbortSignal) => Promise<T>,
  deadlineMs: number,
  signal: AbortSignal | undefined,
): Promise<DeadlineOutcome<T>> {
  let inner: AbortSignal | undefined;
  try {
    const value = await withDeadline({ what: "the tool", deadlineMs, signals: [signal] }, (own) => {
      inner = own;
      return run(own);
    });
    return { timedOut: false, value };
  } catch (error) {
    if (MemoryError.is(error, "UNAVAILABLE") && inner?.aborted && inner.reason === error) return { timedOut: true };
    throw error;
  }
}
