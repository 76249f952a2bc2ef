import type { SyncRecord } from "@memslot/core";
import pLimit from "p-limit";
import type { SpaceFacts } from "../chunk-index.ts";

/** What is kept of past syncs. */
export interface SyncHistory {
  /** Takes a sync down. It is kept behind the caller's back; what cannot be kept is known until this process ends. */
  add(record: SyncRecord): void;
  /** The newest first, over all processes that work on this index. */
  list(): Promise<SyncRecord[]>;
  /** Waits until everything is kept. */
  settle(): Promise<void>;
}

const most = 100;
const noteName = "syncs";
const counts = ["added", "changed", "removed", "unchanged", "failed"] as const;

/**
 * Kept with the index as one small fact. `facts` absent, or `keeps` false: what this process does is known to itself
 * alone.
 */
export function createSyncHistory(
  facts: Pick<SpaceFacts, "note" | "noted"> | undefined,
  { keeps = true }: { keeps?: boolean } = {},
): SyncHistory {
  const inTurn = pLimit(1);
  let unkept: SyncRecord[] = [];

  async function keep(): Promise<void> {
    if (facts === undefined || !keeps || unkept.length === 0) return;
    const own = unkept;
    const known = recordsOf(await facts.noted(noteName));
    await facts.note(noteName, JSON.stringify(newestFirst([...own, ...known])));
    unkept = unkept.filter((record) => !own.includes(record));
  }

  return {
    add(record) {
      unkept = [record, ...unkept].slice(0, most);
      // A history must not cost anybody a sync: the next one tries again.
      void inTurn(keep).catch(() => undefined);
    },
    list: () => inTurn(async () => newestFirst([...unkept, ...recordsOf(await facts?.noted(noteName))])),
    settle: () => inTurn(async () => undefined),
  };
}

function newestFirst(records: readonly SyncRecord[]): SyncRecord[] {
  return records.toSorted((a, b) => Date.parse(b.finishedAt) - Date.parse(a.finishedAt)).slice(0, most);
}

/** What is damaged is left out. */
function recordsOf(text: string | undefined): SyncRecord[] {
  if (text === undefined) return [];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.filter((entry) => isRecord(entry)) : [];
  } catch {
    return [];
  }
}

function isRecord(value: unknown): value is SyncRecord {
  if (typeof value !== "object" || value === null) return false;
  const fields = value as Record<string, unknown>;
  return (
    typeof fields["reason"] === "string" &&
    !Number.isNaN(Date.parse(String(fields["finishedAt"]))) &&
    Number.isFinite(fields["durationMs"]) &&
    counts.every((name) => fields[name] === undefined || Number.isFinite(fields[name])) &&
    (fields["error"] === undefined || typeof fields["error"] === "string")
  );
}
