import { hostname } from "node:os";
import {
  type LastSync,
  type ManagerSyncParams,
  MemoryError,
  type MemoryRootStatus,
  type MemorySource,
  messageOf,
  type SyncProgress,
  type SyncRecord,
  type WriterStatus,
  type Sentence,
} from "@memslot/core";
import { sentence, SentenceError, sentenceOf } from "@memslot/core/host";
import type { NoteIndex, SpaceFacts } from "../note-index.ts";
import type { IndexLeases, LeaseName } from "../ledger/ledger.ts";
import type { IndexStats } from "../index-row-types.ts";
import type { SourceOutcome } from "../indexed-source.ts";
import type { SyncOutcome } from "./sync.ts";
import pLimit from "p-limit";
import { setTimeout as pause } from "node:timers/promises";
import { jsonOf } from "../json-values.ts";

export interface IndexFacts {
  stats: IndexStats;
  isCounted: boolean;
  roots: MemoryRootStatus[];
  /** By source: files that the last look found, and what was skipped or failed. */
  sources: ReadonlyMap<MemorySource, SourceOutcome>;
  lastSync: LastSync | undefined;
  lastSyncError: string | undefined;
  lastError: { message: string; at: string } | undefined;
  /** Absent before the first scan, unless the index is empty. */
  dirty: boolean | undefined;
  /** Why chunks have no vector; undefined if all have one, or none is wanted. */
  missingVectors: Sentence | undefined;
  /** Files are indexed by another recipe than the present one. */
  outdated: boolean;
  /** Why a new build that is there does not take over yet. */
  waitingFor: string | undefined;
  writer: WriterStatus | undefined;
}

export const behindTheScenes: ReadonlySet<string> = new Set(["search", "watch", "interval", "session-start"]);

export class IndexRecord {
  readonly facts: Omit<IndexFacts, "dirty">;
  readonly history: SyncHistory;
  readonly #store: FactStore;
  /** Changes reported by the watcher, and their number before the last successful scan. */
  #seen = 0;
  #covered = 0;
  #blocked: Sentence | undefined;

  /** `keepsHistory`: false for a reader. */
  constructor(store: FactStore, stats: IndexStats, keepsHistory: boolean) {
    this.#store = store;
    this.history = new SyncHistory(store, keepsHistory);
    this.facts = {
      stats,
      isCounted: true,
      roots: [],
      sources: new Map(),
      lastSync: undefined,
      lastSyncError: undefined,
      lastError: undefined,
      missingVectors: undefined,
      outdated: false,
      waitingFor: undefined,
      writer: undefined,
    };
  }

  snapshot(): IndexFacts {
    return { ...this.facts, dirty: this.#isDirty() };
  }

  async sync(
    { reason, sessions, signal }: Pick<ManagerSyncParams, "reason" | "sessions" | "signal">,
    run: () => Promise<SyncOutcome>,
  ): Promise<SyncOutcome> {
    const { facts, history } = this;
    const began = this.#seen;
    const started = performance.now();
    try {
      const outcome = await run();
      this.#blocked = undefined;
      facts.lastSyncError = undefined;
      if (sessions) return outcome;
      facts.outdated = outcome.outdated;
      this.#covered = began;
      facts.roots = outcome.roots;
      facts.sources = outcome.sources;
      const durationMs = Math.round(performance.now() - started);
      const finishedAt = new Date().toISOString();
      facts.lastSync = { reason, finishedAt, durationMs, report: outcome.report };
      const { added, changed, removed, unchanged, failed: failures } = outcome.report;
      const failed = failures.length;
      if (!behindTheScenes.has(reason) || added + changed + removed + failed > 0)
        history.add({ reason, finishedAt, durationMs, added, changed, removed, unchanged, failed });
      return outcome;
    } catch (error) {
      if (error instanceof HeldElsewhere) {
        this.#blocked = sentenceOf(error);
        facts.writer = error.holder;
      } else if (!signal.aborted) {
        facts.lastSyncError = messageOf(error);
        this.failed(error);
        const durationMs = Math.round(performance.now() - started);
        history.add({ reason, finishedAt: new Date().toISOString(), durationMs, error: messageOf(error) });
      }
      throw error;
    } finally {
      await this.count();
    }
  }

  async findWriter(): Promise<void> {
    const { leases } = this.#store;
    const find = async (): Promise<WriterStatus | undefined> =>
      (await leases?.holder("build")) ?? (await leases?.holder("files"));
    this.facts.writer = await find().catch(() => undefined);
  }

  async count(): Promise<void> {
    const { facts } = this;
    const stats = await this.#store.stats().catch(() => undefined);
    facts.isCounted = stats !== undefined;
    facts.stats = stats ?? facts.stats;
    if (facts.writer && facts.writer.pid !== process.pid) await this.findWriter();
  }

  failed(error: unknown): void {
    this.facts.lastError = { message: messageOf(error), at: new Date().toISOString() };
  }

  working(reason: string | undefined): void {
    const since = new Date().toISOString();
    this.facts.writer = reason === undefined ? undefined : { pid: process.pid, host: hostname(), reason, since };
  }

  progress(update: SyncProgress): void {
    const { facts } = this;
    if (facts.writer?.pid === process.pid) facts.writer = { ...facts.writer, ...update };
  }

  markDirty(): void {
    this.#seen++;
  }

  beginScan(): () => void {
    const began = this.#seen;
    return () => void (this.#covered = began);
  }

  whyStale(): Sentence | undefined {
    const { lastSync, lastSyncError, stats } = this.facts;
    if (this.#blocked !== undefined) return sentence("files.held", { who: this.#blocked });
    if (lastSyncError !== undefined) return sentence("sync.failed", { error: lastSyncError });
    if (this.#seen > this.#covered) return sentence("files.seen");
    const built = lastSync !== undefined || stats.files > 0;
    return built ? undefined : sentence("index.none");
  }

  #isDirty(): boolean | undefined {
    const { lastSync, lastSyncError, stats } = this.facts;
    if (this.#seen > this.#covered || this.#blocked !== undefined) return true;
    if (lastSync) return lastSyncError !== undefined || lastSync.report.failed.length > 0;
    return stats.files === 0 || lastSyncError !== undefined ? true : undefined;
  }
}

type FactStore = Pick<NoteIndex, "stats" | "leases" | "note" | "noted">;

const most = 100;
const noteName = "syncs";

/** The last syncs, kept with the index as one small fact. */
export class SyncHistory {
  readonly #facts: Pick<SpaceFacts, "note" | "noted">;
  readonly #keeps: boolean;
  readonly #inTurn = pLimit(1);
  #unkept: SyncRecord[] = [];

  /** `keeps`: false if this process must not write. */
  constructor(facts: Pick<SpaceFacts, "note" | "noted">, keeps = true) {
    this.#facts = facts;
    this.#keeps = keeps;
  }

  /** Records a sync. Stored in the background; kept in memory if that fails. */
  add(record: SyncRecord): void {
    this.#unkept = [record, ...this.#unkept].slice(0, most);
    // A history must not cost anybody a sync: the next one tries again.
    void this.#inTurn(() => this.#keep()).catch(() => undefined);
  }

  async list(): Promise<SyncRecord[]> {
    return await this.#inTurn(async () => newestFirst([...this.#unkept, ...(await this.#kept())]));
  }

  async settle(): Promise<void> {
    await this.#inTurn(() => undefined);
  }

  async #kept(): Promise<SyncRecord[]> {
    return recordsOf(await this.#facts.noted(noteName));
  }

  async #keep(): Promise<void> {
    if (!this.#keeps || this.#unkept.length === 0) return;
    const own = this.#unkept;
    await this.#facts.note(noteName, JSON.stringify(newestFirst([...own, ...(await this.#kept())])));
    this.#unkept = this.#unkept.filter((record) => !own.includes(record));
  }
}

function newestFirst(records: readonly SyncRecord[]): SyncRecord[] {
  return records.toSorted((a, b) => Date.parse(b.finishedAt) - Date.parse(a.finishedAt)).slice(0, most);
}

function recordsOf(text: string | undefined): SyncRecord[] {
  const records = jsonOf(text);
  return (Array.isArray(records) ? (records as (Partial<SyncRecord> | null)[]) : []).filter(
    (each): each is SyncRecord =>
      typeof each?.reason === "string" && Date.parse(String(each.finishedAt)) > 0 && Number.isFinite(each.durationMs),
  );
}

const askAgainMs = 50;
const showsFromMs = 10_000;

/** Another process has held the write lock for longer than the wait. */
export class HeldElsewhere extends SentenceError {
  readonly code = "BUSY";
  readonly holder: WriterStatus | undefined;

  constructor(holder: WriterStatus | undefined) {
    super(describeWriter(holder));
    this.holder = holder;
  }
}

/** `process 812 on box is at work on the index (cli, 120 of 500) since 2026-05-04T10:00:00.000Z` */
function describeWriter(holder: WriterStatus | undefined): Sentence {
  if (!holder) return sentence("index.busyElsewhere");
  const { pid, host, reason, since, completed, total, label } = holder;
  const progress =
    total === undefined ? "" : `, ${completed ?? 0} of ${total}${label === undefined ? "" : ` ${label}`}`;
  const process = host === undefined ? String(pid) : `${pid} on ${host}`;
  return sentence("index.busy", { process, reason, progress, since });
}

export function busyError(holder: WriterStatus | undefined): MemoryError {
  return new MemoryError("BUSY", sentence("index.wait", { who: describeWriter(holder) }));
}

/** Whether several hosts share the index: each call on its leases is then requests over the network. */
export function isSharedByHosts(leases: IndexLeases | undefined): boolean {
  return leases?.slept !== undefined;
}

export interface RightOptions extends Pick<ManagerSyncParams, "reason" | "signal"> {
  progress?: ManagerSyncParams["progress"] | undefined;
  waitMs: () => number;
}

/** Runs work under the write lock. Throws `HeldElsewhere` if it takes too long to get. */
export async function withWriteRight<Result>(
  { leases }: Pick<NoteIndex, "leases">,
  name: LeaseName,
  options: RightOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!leases) return await work();
  let slept: number | undefined;
  try {
    return await withRight(leases, name, options, () => work().finally(() => (slept = leases.slept?.(name))));
  } catch (error) {
    if (slept === undefined || options.signal.aborted) throw error;
    const label = `this machine slept for ${Math.ceil(slept / 60_000)} min in the middle of it; it is tried once more`;
    options.progress?.({ completed: 0, total: 0, label });
    return await withRight(leases, name, options, work);
  }
}

async function withRight<Result>(
  leases: IndexLeases,
  name: LeaseName,
  { reason, waitMs, signal, progress }: RightOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const started = performance.now();
  for (let tries = 1; !(await leases.acquire(name, reason)); tries++) {
    signal.throwIfAborted();
    const holder = await leases.holder(name);
    if (performance.now() - started >= waitMs()) throw new HeldElsewhere(holder);
    // A short wait is reported by the error alone.
    if (holder && waitMs() > showsFromMs) {
      const { completed = 0, total = 0 } = holder;
      progress?.({ completed, total, label: describeWriter({ ...holder, total: undefined }).reason });
    }
    // Each try is some requests where hosts share a place.
    await pause(isSharedByHosts(leases) && tries > 5 ? 10 * askAgainMs : askAgainMs, undefined, { signal });
  }
  try {
    signal.throwIfAborted();
    return await work();
  } finally {
    // A failing store releases everything when it is closed.
    await leases.release(name).catch(() => undefined);
  }
}
