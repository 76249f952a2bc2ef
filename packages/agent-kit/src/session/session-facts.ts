import path from "node:path";
import type { TableEntry } from "./session-table.ts";
import type { SessionFacts } from "./session.ts";

/** What the list says of a session, and the size of its transcript. */
export function factsOf(input: {
  key: string;
  folder: string;
  entry: TableEntry;
  transcriptBytes: number;
}): SessionFacts {
  const { key, folder, entry, transcriptBytes } = input;
  const { memoryFlushAt, memoryFlushCompactionCount } = entry.more;
  return {
    key,
    id: entry.sessionId,
    file: path.join(folder, entry.sessionFile),
    updatedAt: new Date(entry.updatedAt).toISOString(),
    compactionCount: entry.compactionCount,
    memoryFlushAt: isoOf(memoryFlushAt),
    memoryFlushCompactionCount: typeof memoryFlushCompactionCount === "number" ? memoryFlushCompactionCount : undefined,
    transcriptBytes,
    bytesSinceCompaction: Math.max(0, transcriptBytes - entry.compactedBytes),
  };
}

/** Hosts also write milliseconds. */
function isoOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" && value > 0 && value <= 8.64e15 ? new Date(value).toISOString() : undefined;
}
