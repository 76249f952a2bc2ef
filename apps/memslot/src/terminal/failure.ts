import { MemoryError, messageOf } from "@memslot/core";
import { ExitCode } from "./exit-code.ts";
import type { Output } from "./output.ts";
import { UsageError } from "./usage-error.ts";

/** The exit code of an error that ended a command. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError || MemoryError.is(error, "INVALID_ARGUMENT")) return ExitCode.usage;
  return MemoryError.is(error, "BUSY") ? ExitCode.busy : ExitCode.error;
}

/** The field's shape of a failed command on stdout, with the code added. */
export function failureJson(error: unknown, agentId?: string): object {
  return {
    ok: false,
    error: { type: "cli_error", code: codeOf(error), message: messageOf(error) },
    ...(agentId === undefined ? {} : { agentId }),
  };
}

/** Says on stderr what went wrong; an error that nobody planned for brings its stack. */
export function reportFailure(output: Output, error: unknown): void {
  if (MemoryError.is(error) || error instanceof UsageError) output.notice(messageOf(error));
  else if (error instanceof Error) output.notice(`unexpected error, please report it: ${error.stack ?? error.message}`);
  else output.notice(`unexpected error, please report it: ${String(error)}`);
}

function codeOf(error: unknown): string {
  if (MemoryError.is(error)) return error.code;
  return error instanceof UsageError ? "USAGE" : "INTERNAL";
}
