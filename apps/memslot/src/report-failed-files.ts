import type { SyncFailure } from "@memslot/core";
import type { Output } from "./output.ts";
import { printable } from "./printable.ts";

const MOST_SHOWN = 20;

/** Names the files that could not be indexed, on stderr: at most 20, then how many more. */
export function reportFailedFiles(output: Output, failed: readonly SyncFailure[]): void {
  for (const { path, reason } of failed.slice(0, MOST_SHOWN)) output.notice(`${printable(path)}: ${printable(reason)}`);
  const rest = failed.length - MOST_SHOWN;
  if (rest > 0)
    output.notice(
      `and ${counted(rest, "more file")} that could not be indexed; memslot memory status --index --json lists all`,
    );
}

/** `1 file`, `2 files`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
