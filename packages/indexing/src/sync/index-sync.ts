import pLimit from "p-limit";
import {
  type ManagerSyncParams,
  messageOf,
  type SearchCondition,
  type SyncMessage,
  type SyncRecord,
  type SyncReport,
} from "@memslot/core";
import { traceCall } from "@memslot/core/host";
import type { FileKey } from "../chunk-store.ts";
import type { Freshness } from "../freshness/freshness.ts";
import type { SearchedSource, StoredFiles } from "../indexed-source.ts";
import {
  behindTheScenes,
  busyError,
  HeldElsewhere,
  type IndexFacts,
  IndexRecord,
  isSharedByHosts,
  withWriteRight,
} from "./index-record.ts";
import { type IndexParts, LongWork, type SyncParams } from "./long-work.ts";
import { createNoteDays, StoredListing } from "./stored-files.ts";
import { type SyncOutcome, syncFiles } from "./sync.ts";

/** How long a search waits for the files to be indexed, before it answers from what is there. */
const searchWaitsMs = 300;
/** How long of that for another process that writes, so that there is time left to report which one. */
const othersMayTakeMs = 200;
/** How long it waits for another process that makes the first index. */
const firstIndexWaitsMs = 10_000;
/** How long a sync that does not want to wait waits all the same: for what is done in a moment. */
const graceMs = 1500;
/** The same where hosts share the index: what takes a moment here takes seconds there, and one that died keeps its right for 60. */
const sharedGraceMs = 90_000;

/** A scan for searches. */
interface SearchScan {
  outcome: Promise<SearchCondition | undefined>;
  /** How many files have changed; undefined until all were scanned. */
  changed: number | undefined;
}

interface IndexSyncInput extends IndexParts {
  /** False: a search does not scan the files. */
  onSearch: boolean;
  /** True for somebody who wants to know how the index is. */
  readOnly?: boolean | undefined;
  /** Whose index it is, for a trace. */
  names: { agentId: string; backend: string };
  /** Learns what has changed without a scan; absent: each scan asks the file system for everything. */
  freshness?: Freshness | undefined;
}

export async function createIndexSync(input: IndexSyncInput): Promise<IndexSync> {
  const { store, readOnly = false } = input;
  const record = new IndexRecord(store, await store.stats(), !readOnly);
  if (readOnly || !isSharedByHosts(store.leases)) await record.findWriter();
  return new IndexSync(input, record);
}

/** Keeps an index up to date: who may write when, and how long a search waits for it. */
export class IndexSync {
  readonly #input: IndexSyncInput;
  readonly #record: IndexRecord;
  readonly #listing: StoredListing;
  readonly #longWork: LongWork;
  readonly #daysOf = createNoteDays();
  readonly #closing = new AbortController();
  /** One scan at a time. */
  readonly #inTurn = pLimit(1);
  /** A scan that some search waits for and that has not begun: later searches wait for the same. */
  #next: SearchScan | undefined;
  /** The state of the index that the facts were counted at. */
  #followed: string | undefined;

  constructor(input: IndexSyncInput, record: IndexRecord) {
    this.#input = input;
    this.#record = record;
    this.#listing = new StoredListing(input.store);
    this.#longWork = new LongWork(input, record, this.#closing.signal);
  }

  /** Files first, then what takes long: a new build where one is due, and vectors. */
  async sync({ wait, ...params }: ManagerSyncParams): Promise<SyncReport> {
    const { store, vectors, freshness } = this.#input;
    const own = { ...params, signal: AbortSignal.any([params.signal, this.#closing.signal]) };
    await store.revision({ fresh: true });
    // A search comes after it and wants the vector of its question.
    if (params.reason === "search") vectors?.warm();
    const isAsked = !behindTheScenes.has(params.reason);
    const waitMs = wait ? Number.POSITIVE_INFINITY : isSharedByHosts(store.leases) ? sharedGraceMs : graceMs;
    const indexed = async (given: SyncParams): Promise<SyncOutcome> =>
      await this.#inTurn(async () => {
        own.signal.throwIfAborted();
        freshness?.sweep("a sync was asked for");
        return await this.#indexFiles(given, isAsked ? () => waitMs : () => this.#patience());
      });
    try {
      if (isAsked)
        return await this.#longWork.inTurn(
          own,
          waitMs,
          async (given) => await this.#longWork.run(given, await indexed(given)),
        );
      const done = await indexed(own);
      await vectors?.count();
      // The right to do it is only asked for where there is something to do: that alone would be a write.
      if (!this.#longWork.isDue() && vectors?.isBehind() !== true) return done.report;
      return await this.#longWork.runForSearch(own, done);
    } catch (error) {
      if (!(error instanceof HeldElsewhere)) throw error;
      if (isAsked) throw busyError(error.holder);
      // The answer that follows says that it is stale.
      return { added: 0, changed: 0, removed: 0, unchanged: this.#record.facts.stats.files, failed: [] };
    }
  }

  /**
   * For a search: scans the files, from now on, and waits a little until their words are in, without end while the index
   * is empty. Vectors are made behind it. Says why the answer cannot be taken as fresh, where it cannot.
   */
  async freshen(signal: AbortSignal): Promise<SearchCondition | undefined> {
    // Another process may have made the index, or changed it, since this one counted.
    await this.#follow();
    if (!this.#input.onSearch) {
      const reason = this.#record.whyStale();
      return reason === undefined ? undefined : { state: "stale", reason };
    }
    // One that runs already may have passed the note that was saved a moment ago.
    const scan = (this.#next ??= this.#plan(() => void (this.#next = undefined)));
    const before = this.#longWork.behind;
    const limitMs = this.#isEmpty() ? undefined : searchWaitsMs;
    const unfresh = await waitFor(scan.outcome, limitMs, signal, () => soFar(scan));
    // Vectors of a note or two are there in a moment, and the answer is better with them.
    const { behind } = this.#longWork;
    if (this.#input.vectors && behind && behind !== before)
      await waitFor(behind, searchWaitsMs, signal, () => undefined);
    return unfresh;
  }

  /**
   * For a search: reads these files again, whatever their records say, and scans all others. Says why that is not done,
   * where it takes longer than a while.
   */
  async reread(keys: readonly FileKey[], signal: AbortSignal): Promise<SearchCondition | undefined> {
    const scan = this.#plan(() => this.#distrust(keys));
    await this.#record.count();
    const limitMs = this.#isEmpty() ? firstIndexWaitsMs : searchWaitsMs;
    return await waitFor(scan.outcome, limitMs, signal, () => soFar(scan));
  }

  /** Scans the files with nobody waiting for more than their words. Never throws: what fails is in the facts. */
  async scan(reason: "watch" | "interval"): Promise<void> {
    const work = async (): Promise<void> => {
      await this.#input.store.revision({ fresh: true });
      if (reason === "interval") this.#input.freshness?.sweep("looked at by the clock");
      else if (await this.#isUnchanged()) return;
      await this.#pass(reason, () => othersMayTakeMs);
    };
    await this.#inTurn(work).catch(() => undefined);
  }

  /** Something has changed, as a watcher reports. */
  markDirty(): void {
    this.#record.markDirty();
  }

  /** What the index holds, by source. */
  async stored(): Promise<StoredFiles> {
    return await this.#listing.files();
  }

  /** The days that there are notes of in these places, in order. */
  async days(places: readonly SearchedSource[]): Promise<readonly number[]> {
    return this.#daysOf(await this.#listing.files(), places);
  }

  facts(): IndexFacts {
    return this.#record.snapshot();
  }

  /** The last syncs, the newest first, over all processes. */
  async history(): Promise<SyncRecord[]> {
    return await this.#record.history.list();
  }

  /** Stops what is running and waits for it. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled([this.#inTurn(() => undefined), this.#longWork.close()]);
    await this.#record.history.settle();
  }

  #isEmpty(): boolean {
    return this.#record.facts.stats.chunks === 0;
  }

  /** How long a scan for a search waits for another process that writes. */
  #patience(): number {
    return this.#isEmpty() ? firstIndexWaitsMs : othersMayTakeMs;
  }

  /** Counts again where the files that answer have changed since, whichever process has done it. */
  async #follow(): Promise<void> {
    const { store, vectors } = this.#input;
    const revision = await store.revision({ fresh: true });
    if (revision !== this.#followed) {
      await this.#record.count();
      await vectors?.count();
      this.#followed = this.#record.facts.isCounted ? revision : undefined;
      // Vectors that others make change no file.
    } else if ((vectors?.facts().missing ?? 0) > 0) await vectors?.count();
  }

  /** A scan that begins, with `first`, when those before it have ended. */
  #plan(first: () => Promise<void> | void): SearchScan {
    const scan: SearchScan = { changed: undefined, outcome: this.#inTurn(() => this.#scanFor(scan, first)) };
    return scan;
  }

  async #scanFor(scan: SearchScan, first: () => Promise<void> | void): Promise<SearchCondition | undefined> {
    try {
      await first();
      if (await this.#isUnchanged()) return undefined;
      await this.#pass(
        "search",
        () => this.#patience(),
        (changed) => (scan.changed = changed),
      );
      return undefined;
    } catch (error) {
      if (error instanceof HeldElsewhere) {
        const reason = `${changedFiles(scan.changed)} and ${error.message}`;
        return { state: "stale", reason, count: scan.changed };
      }
      return { state: "stale", reason: `the index could not be brought up to date: ${messageOf(error)}` };
    }
  }

  /** Makes files count as changed. */
  async #distrust(keys: readonly FileKey[]): Promise<void> {
    const { store } = this.#input;
    // An edit of the index by hand does not say that it has changed.
    this.#listing.forget();
    const known = await this.#listing.files();
    const records = keys.flatMap(({ source, path }) => {
      const record = known.get(source)?.get(path);
      return record === undefined ? [] : [{ ...record, hash: "", mtimeMs: -1, cursor: undefined }];
    });
    if (records.length === 0) return;
    const right = { reason: "search", waitMs: () => this.#patience(), signal: this.#closing.signal };
    await withWriteRight(store, "files", right, () => store.touchFiles(records));
  }

  /** Whether a scan would find nothing that the index does not hold, where that is known without one. */
  async #isUnchanged(): Promise<boolean> {
    const { sources, freshness } = this.#input;
    const found = this.#record.beginScan();
    if (freshness === undefined || !(await freshness.isUnchanged())) return false;
    if (sources.some((source) => source.isSettled?.() === false)) return false;
    if (!(await this.#listing.isCurrent()) || this.#longWork.isDue()) return false;
    found();
    return true;
  }

  /** Scans the files, and has vectors made behind it. */
  async #pass(reason: string, waitMs: () => number, onPlanned?: (changed: number) => void): Promise<void> {
    const { names, vectors } = this.#input;
    const params: SyncParams = { reason, force: false, progress: () => {}, signal: this.#closing.signal };
    // What an application asks for is traced where it asks.
    const done = await traceCall(
      "sync",
      () => ({ ...names, reason, force: false }),
      () => this.#indexFiles(params, waitMs, onPlanned),
      ({ report }) => countsOf(report),
    );
    const { added, changed, removed } = done.report;
    if (added + changed + removed > 0 || vectors?.facts().missing === undefined) await vectors?.count();
    if (this.#longWork.isDue()) this.#longWork.runBehind(params, done);
  }

  /** Brings the words that answer up to date. */
  async #indexFiles(
    params: SyncParams,
    waitMs: () => number,
    onPlanned?: (changed: number) => void,
  ): Promise<SyncOutcome> {
    const { store, sources, vectors, freshness } = this.#input;
    const { reason } = params;
    const isAsked = !behindTheScenes.has(reason);
    // With single transcripts named, the others are not scanned.
    const news = params.sessions === undefined ? freshness : undefined;
    const foundAll = news?.begin();
    const outcome = await this.#record.sync(params, () =>
      syncFiles({
        table: store,
        listing: this.#listing,
        sources,
        look: news?.look,
        isAsked,
        otherRecipe: async () => await this.#longWork.otherRecipe(isAsked),
        params: {
          ...params,
          force: params.force && store.startBuild === undefined,
          progress(update) {
            // Something has changed, and will want a vector.
            vectors?.warm();
            params.progress(update);
          },
        },
        onPlanned,
        withRight: (write) =>
          withWriteRight(store, "files", { ...params, waitMs }, async () => {
            // As the process that had the right before has left it.
            await store.revision({ fresh: true });
            await write();
          }),
      }),
    );
    if (outcome.report.failed.length === 0) foundAll?.();
    return outcome;
  }
}

function countsOf({ added, changed, removed, unchanged, failed }: SyncReport): Partial<SyncMessage> {
  return { added, changed, removed, unchanged, failed: failed.length };
}

/** What is known of the files when a search goes on without the end of its scan. */
function soFar({ changed }: SearchScan): SearchCondition | undefined {
  // Nothing has changed: what is left of the scan is to count.
  if (changed === 0) return undefined;
  if (changed === undefined) return { state: "stale", reason: "not all files were looked at yet" };
  const verb = changed === 1 ? "is" : "are";
  return { state: "stale", reason: `${changedFiles(changed)} and ${verb} still being indexed`, count: changed };
}

function changedFiles(count: number | undefined): string {
  if (count === undefined) return "files have changed";
  return count === 1 ? "1 file has changed" : `${count} files have changed`;
}

/** What an outcome is, or after `limitMs` what there is to say without it. Rejects with the reason of an abort. */
async function waitFor<Outcome>(
  outcome: Promise<Outcome>,
  limitMs: number | undefined,
  signal: AbortSignal,
  otherwise: () => Outcome,
): Promise<Outcome> {
  signal.throwIfAborted();
  return await new Promise((resolve, reject) => {
    const timer = limitMs === undefined ? undefined : setTimeout(() => resolve(otherwise()), limitMs);
    const stop = (): void => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    outcome.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    });
  });
}
