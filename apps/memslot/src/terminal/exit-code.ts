import { MemoryError, messageOf } from "@memslot/core";
import type { Output } from "./output.ts";

/** The exit codes of the command, part of its API. */
export const ExitCode = {
  ok: 0,
  error: 1,
  /** Wrong usage or an argument out of range. */
  usage: 2,
  /** Incomplete: some files failed, or the embedding provider has to be tried again. */
  partial: 3,
  /** Not done: another process is writing to the index. */
  busy: 4,
  /** The terminal of a server was closed. */
  hungUp: 129,
  interrupted: 130,
  terminated: 143,
} as const;

/** The worse of two outcomes of one run. */
export function worseExitCode(left: number, right: number): number {
  const order: readonly number[] = [ExitCode.ok, ExitCode.partial, ExitCode.busy, ExitCode.usage, ExitCode.error];
  return order.indexOf(right) > order.indexOf(left) ? right : left;
}

/** Wrong usage of the command line: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The exit code of an error that ended a command. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError || MemoryError.is(error, "INVALID_ARGUMENT")) return ExitCode.usage;
  return MemoryError.is(error, "BUSY") ? ExitCode.busy : ExitCode.error;
}

/** A failed command as JSON, in the shape of OpenClaw with a code. */
export function failureJson(error: unknown, agentId?: string): object {
  return {
    ok: false,
    error: { type: "cli_error", code: codeOf(error), message: messageOf(error) },
    ...(agentId === undefined ? {} : { agentId }),
  };
}

/** Reports an error on stderr, with its stack if it is unexpected. */
export function reportFailure(output: Output, error: unknown): void {
  if (MemoryError.is(error) || error instanceof UsageError) output.notice(messageOf(error));
  else if (error instanceof Error) output.notice(`unexpected error, please report it: ${error.stack ?? error.message}`);
  else output.notice(`unexpected error, please report it: ${String(error)}`);
}

function codeOf(error: unknown): string {
  if (MemoryError.is(error)) return error.code;
  return error instanceof UsageError ? "USAGE" : "INTERNAL";
}
