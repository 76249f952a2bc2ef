import type {
  AvailabilityProbe,
  IndexCheck,
  HealthPart,
  MemoryProviderStatus,
  MemoryRootStatus,
  MemorySource,
  MemorySurvey,
} from "@memslot/core";
import { isUsualGap } from "@memslot/indexing/host";

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
