import type {
  AvailabilityProbe,
  IndexCheck,
  HealthPart,
  MemoryProviderStatus,
  MemoryRootStatus,
  MemorySource,
  MemorySurvey,
  ExcludedNotes,
  SyncFailure,
} from "@memslot/core";
import { isUsualGap } from "@memslot/indexing/host";
import { type Output, printable } from "../terminal/output.ts";

export interface ScanSummary {
  sources: { source: MemorySource; totalFiles: number; issues: string[] }[];
  totalFiles: number;
  issues: string[];
}

export interface AgentStatus {
  agentId: string;
  health: HealthPart;
  status: MemoryProviderStatus;
  embeddingProbe?: AvailabilityProbe;
  indexError?: string;
  /** The result of `--deep` and the repairs of `--fix`. */
  check?: IndexCheck;
  checkError?: string;
  survey?: MemorySurvey;
  scan: ScanSummary;
}

/** The `scan` object of OpenClaw, from the status of the backend. */
export function scanSummary(status: MemoryProviderStatus): ScanSummary {
  const failed = status.lastSync?.report.failed ?? [];
  const fileIssues = failed.map(({ path, reason }) => `${path}: ${reason}`);
  const skipped = skippedRoots(status);
  const rootIssues = leftOut(status);
  const ordinary = new Set(skipped.filter((root) => isUsualGap(root)).map(describeRoot));
  // Without roots there was no scan.
  const inRoots = status.roots?.length ? status.roots.reduce((sum, { files = 0 }) => sum + files, 0) : undefined;
  const counts = new Map((status.sourceCounts ?? []).map((count) => [count.source, count]));
  const others = new Set(
    [...counts.values()].flatMap(({ source, issues = [] }) => (source === "memory" ? [] : issues)),
  );
  const ofNotes = [...rootIssues, ...fileIssues.filter((issue) => !others.has(issue))];
  const names = new Set([...(status.sources ?? ["memory"]), ...counts.keys()]);
  const sources = [...names].map((source) => {
    // Roots are folders of notes; other sources report their own counts.
    const isNotes = source === "memory";
    const { files = 0, eligible, issues = [] } = counts.get(source) ?? {};
    return {
      source,
      totalFiles: eligible ?? (isNotes ? inRoots : undefined) ?? files + (isNotes ? failed.length : 0),
      issues: [...new Set([...(isNotes ? ofNotes : []), ...issues])].filter((issue) => !ordinary.has(issue)),
    };
  });
  return {
    sources,
    totalFiles: sources.reduce((sum, { totalFiles }) => sum + totalFiles, 0),
    issues: sources.flatMap(({ issues }) => issues),
  };
}

/** Configured folders that are not indexed, with the reason. */
export function leftOut(status: MemoryProviderStatus): string[] {
  return skippedRoots(status)
    .filter((root) => !isUsualGap(root))
    .map(describeRoot);
}

function skippedRoots({ roots = [] }: MemoryProviderStatus): MemoryRootStatus[] {
  return roots.filter(({ state }) => state === "skipped");
}

function describeRoot({ path, reason = "skipped" }: MemoryRootStatus): string {
  return `${path}: ${reason}`;
}

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
