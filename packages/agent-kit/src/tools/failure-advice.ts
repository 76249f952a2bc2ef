import { MemoryError, messageOf } from "@memslot/core";
import type { ToolSetting } from "./tool-setting.ts";

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
