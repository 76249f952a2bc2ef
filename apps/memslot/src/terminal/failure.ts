import { MemoryError, messageOf } from "@memslot/core";
import { ExitCode } from "./exit-code.ts";
import type { Output } from "./output.ts";
import { UsageError } from "./usage-error.ts";

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
