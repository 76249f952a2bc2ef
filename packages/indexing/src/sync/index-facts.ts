import { hostname } from "node:os";
import {
  type LastSync,
  type ManagerSyncParams,
  type MemoryRootStatus,
  type MemorySource,
  messageOf,
  type SyncProgress,
  type WriterStatus,
} from "@memslot/core";
import type { ChunkIndex, IndexStats } from "../chunk-index.ts";
import { createSyncHistory, type SyncHistory } from "./sync-history.ts";
import type { SourceOutcome, SyncOutcome } from "./sync.ts";
import { HeldElsewhere } from "./write-right.ts";

/** What is known of the index without looking. */
export interface IndexFacts {
  stats: IndexStats;
  roots: MemoryRootStatus[];
  /** By source: files that the last look found, and what was passed over or failed. */
  sources: ReadonlyMap<MemorySource, SourceOutcome>;
  lastSync: LastSync | undefined;
  lastSyncError: string | undefined;
  lastError: { message: string; at: string } | undefined;
  /** Absent until a sync has looked at the files, unless there is nothing at all in the index. */
  dirty: boolean | undefined;
  /** Why chunks have no vector; undefined where all have one, or none is wanted. */
  missingVectors: string | undefined;
  /** Files are indexed by another recipe than the present one. */
  outdated: boolean;
  /** Why a new build that is there does not take over yet. */
  waitingFor: string | undefined;
  /** Who was at work on the index when that was looked at last. */
  writer: WriterStatus | undefined;
}

/** Writes down what happens to an index. */
export interface IndexRecord {
  facts: Omit<IndexFacts, "dirty">;
  /** The facts as they are now. */
  snapshot(): IndexFacts;
  /** Runs a look at the files and writes down what comes of it. */
  sync(
    params: Pick<ManagerSyncParams, "reason" | "sessions" | "signal">,
    run: () => Promise<SyncOutcome>,
  ): Promise<SyncOutcome>;
  /** Counts what is in the store. */
  count(): Promise<void>;
  failed(error: unknown): void;
  /** This process works on the index, for a reason, or no longer. */
  working(reason: string | undefined): void;
  /** How far that work is. */
  progress(update: SyncProgress): void;
  heldBy(holder: WriterStatus | undefined): void;
  markDirty(): void;
  /** A look begins. To be called when it has found nothing new. */
  beginLook(): () => void;
  /** Why an answer without a look at the files cannot be taken as fresh. */
  whyStale(): string | undefined;
  /** What is kept of syncs beyond this process. */
  history: Pick<SyncHistory, "list" | "settle">;
}

/** Reasons of a sync that nobody waits for. A provider that refuses everything is not asked again for one of them. */
export const behindTheScenes: ReadonlySet<string> = new Set(["search", "watch", "interval", "session-start"]);

/** `looksForWriter`: whether it is found out who is at work on the index now. */
export async function createIndexFacts(
  store: Pick<ChunkIndex, "stats" | "leases" | "spaceFacts">,
  { looksForWriter = true, keepsHistory = true }: { looksForWriter?: boolean; keepsHistory?: boolean } = {},
): Promise<IndexRecord> {
  const facts: Omit<IndexFacts, "dirty"> = {
    stats: await store.stats(),
    roots: [],
    sources: new Map(),
    lastSync: undefined,
    lastSyncError: undefined,
    lastError: undefined,
    missingVectors: undefined,
    outdated: false,
    waitingFor: undefined,
    writer: looksForWriter ? await findWriter(store) : undefined,
  };
  /** Changes that a watcher has seen, and how many of them the last good look began after. */
  let seen = 0;
  let covered = 0;
  /** Why the last look could not write what it found. */
  let blocked: string | undefined;
  const history = createSyncHistory(store.spaceFacts, { keeps: keepsHistory });

  async function count(): Promise<void> {
    facts.stats = await store.stats().catch(() => facts.stats);
    // Another process may have ended since.
    if (facts.writer && facts.writer.pid !== process.pid) facts.writer = await findWriter(store);
  }

  function failed(error: unknown): void {
    facts.lastError = { message: messageOf(error), at: new Date().toISOString() };
  }

  function isDirty(): boolean | undefined {
    const { lastSync, lastSyncError, stats } = facts;
    if (seen > covered || blocked !== undefined) return true;
    if (lastSync) return lastSyncError !== undefined || lastSync.report.failed.length > 0;
    return stats.files === 0 || lastSyncError !== undefined ? true : undefined;
  }

  return {
    facts,
    snapshot: () => ({ ...facts, dirty: isDirty() }),
    count,
    failed,
    history,

    async sync({ reason, sessions, signal }, run) {
      const began = seen;
      const started = performance.now();
      try {
        const outcome = await run();
        blocked = undefined;
        facts.lastSyncError = undefined;
        // With single transcripts named, the others were not looked at.
        if (sessions) return outcome;
        facts.outdated = outcome.outdated;
        covered = began;
        facts.roots = outcome.roots;
        facts.sources = outcome.sources;
        const durationMs = Math.round(performance.now() - started);
        const finishedAt = new Date().toISOString();
        facts.lastSync = { reason, finishedAt, durationMs, report: outcome.report };
        const { added, changed, removed, unchanged, failed: failures } = outcome.report;
        const failed = failures.length;
        // A look that a search takes by itself, and that finds nothing, is no news.
        if (!behindTheScenes.has(reason) || added + changed + removed + failed > 0)
          history.add({ reason, finishedAt, durationMs, added, changed, removed, unchanged, failed });
        return outcome;
      } catch (error) {
        if (error instanceof HeldElsewhere) {
          blocked = error.message;
          facts.writer = error.holder;
        } else if (!signal.aborted) {
          facts.lastSyncError = messageOf(error);
          failed(error);
          const durationMs = Math.round(performance.now() - started);
          history.add({ reason, finishedAt: new Date().toISOString(), durationMs, error: messageOf(error) });
        }
        throw error;
      } finally {
        await count();
      }
    },

    working(reason) {
      facts.writer = reason === undefined ? undefined : ownWork(reason);
    },
    progress(update) {
      if (facts.writer?.pid === process.pid) facts.writer = { ...facts.writer, ...update };
    },
    heldBy: (holder) => void (facts.writer = holder),
    markDirty: () => void seen++,

    beginLook() {
      const began = seen;
      return () => void (covered = began);
    },

    whyStale() {
      if (blocked !== undefined) return `files have changed and ${blocked}`;
      if (facts.lastSyncError !== undefined) return `the last sync failed: ${facts.lastSyncError}`;
      if (seen > covered) return "files have changed since they were looked at last";
      const built = facts.lastSync !== undefined || facts.stats.files > 0;
      return built ? undefined : "the index has not been built yet: run `memslot memory index`";
    },
  };
}

/** Who works on the index for long, or else who writes to it just now. */
async function findWriter({ leases }: Pick<ChunkIndex, "leases">): Promise<WriterStatus | undefined> {
  try {
    return (await leases?.holder("build")) ?? (await leases?.holder("files"));
  } catch {
    return undefined;
  }
}

function ownWork(reason: string): WriterStatus {
  return { pid: process.pid, host: hostname(), reason, since: new Date().toISOString() };
}
