import type { AvailabilityProbe, MemoryProviderStatus, MemoryRootStatus, MemorySource } from "@memslot/core";

const usualPlaces: ReadonlySet<string> = new Set(["MEMORY.md", "memory.md", "USER.md", "memory"]);

/** What the last look at the files found, by source. */
export interface ScanSummary {
  sources: { source: MemorySource; totalFiles: number; issues: string[] }[];
  totalFiles: number;
  issues: string[];
}

/** One entry of `memory status --json`. */
export interface AgentStatus {
  agentId: string;
  status: MemoryProviderStatus;
  embeddingProbe?: AvailabilityProbe;
  indexError?: string;
  scan: ScanSummary;
}

/** The field's `scan` object, made from what the backend has recorded. */
export function scanSummary(status: MemoryProviderStatus): ScanSummary {
  const failed = status.lastSync?.report.failed ?? [];
  const fileIssues = failed.map(({ path, reason }) => `${path}: ${reason}`);
  const rootIssues = (status.roots ?? []).filter(isIssue).map(({ path, reason = "skipped" }) => `${path}: ${reason}`);
  const inRoots = status.roots?.reduce((sum, { files = 0 }) => sum + files, 0);
  const counts = new Map((status.sourceCounts ?? []).map(({ source, files }) => [source, files]));
  const names = new Set([...(status.sources ?? ["memory"]), ...counts.keys()]);
  const sources = [...names].map((source) => {
    // Roots are places for notes; what other sources hold is known by what was indexed.
    const isNotes = source === "memory";
    return {
      source,
      totalFiles: (isNotes ? inRoots : undefined) ?? (counts.get(source) ?? 0) + (isNotes ? failed.length : 0),
      issues: isNotes ? [...rootIssues, ...fileIssues] : [],
    };
  });
  return {
    sources,
    totalFiles: sources.reduce((sum, { totalFiles }) => sum + totalFiles, 0),
    issues: sources.flatMap(({ issues }) => issues),
  };
}

/** A usual place that nobody has made is no issue; a link in its stead, or an extra path that is missing, is one. */
function isIssue({ path, state, reason = "" }: MemoryRootStatus): boolean {
  if (state !== "skipped") return false;
  return !usualPlaces.has(path) || !/does not exist$|is used$/u.test(reason);
}
