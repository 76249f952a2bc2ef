import type { SyncFailure } from "@memslot/core";
import type { Output } from "../terminal/output.ts";
import { printable } from "../terminal/printable.ts";

const MOST_SHOWN = 20;

/** Names the files that could not be indexed, on stderr: at most 20, then how many more. */
export function reportFailedFiles(output: Output, failed: readonly SyncFailure[]): void {
  const rest = "that could not be indexed; memslot memory status --index --json lists all";
  report(output, failed.map(describeFailure), rest);
}

/** Names what was left out, and why, in the same way; what failed is named elsewhere. */
export function reportLeftOut(output: Output, issues: readonly string[], failed: readonly SyncFailure[]): void {
  const known = new Set(failed.map(describeFailure));
  const leftOut = issues.filter((issue) => !known.has(issue)).map((issue) => `left out: ${issue}`);
  report(output, leftOut, "left out; memslot memory status --index --json lists all");
}

export function describeFailure({ path, reason }: SyncFailure): string {
  return `${path}: ${reason}`;
}

function report(output: Output, lines: readonly string[], whatOfTheRest: string): void {
  for (const line of lines.slice(0, MOST_SHOWN)) output.notice(printable(line));
  const rest = lines.length - MOST_SHOWN;
  if (rest > 0) output.notice(`and ${counted(rest, "more file")} ${whatOfTheRest}`);
}

/** `1 file`, `2 files`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}
