import type { ExcludedNotes, SyncFailure } from "@memslot/core";
import type { Output } from "../terminal/output.ts";
import { printable } from "../terminal/printable.ts";

const MOST_SHOWN = 20;

/** Lists excluded notes on stderr: at most 20, then the number of others. */
export function reportExcluded(
  output: Output,
  excluded: ExcludedNotes | undefined,
  failed: readonly SyncFailure[],
  issues: readonly string[],
): void {
  const { notes = failed, byConfiguration = 0 } = excluded ?? {};
  const lines = [...notes.map(describeFailure), ...otherIssues(issues, notes)];
  for (const line of lines.slice(0, MOST_SHOWN)) output.notice(`excluded: ${printable(line)}`);
  const rest = lines.length - MOST_SHOWN;
  if (rest > 0) output.notice(`and ${rest} more; memslot memory status --index --json lists all`);
  if (byConfiguration > 0) output.notice(`${byConfiguration} excluded by configuration (memorySearch.exclude)`);
}

/** The issues that are not among the notes. The reason identifies an issue, because its path may differ. */
export function otherIssues(issues: readonly string[], notes: readonly SyncFailure[]): string[] {
  return issues.filter((issue) => !notes.some(({ reason }) => issue.endsWith(`: ${reason}`)));
}

export function describeFailure({ path, reason }: SyncFailure): string {
  return `${path}: ${reason}`;
}

/** `1 file`, `2 files`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}
