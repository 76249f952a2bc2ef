import pLimit from "p-limit";
import {
  type ManagerSyncParams,
  type SearchCondition,
  type SyncMessage,
  type SyncRecord,
  type SyncReport,
} from "@memslot/core";
import { sentence, sentenceOf, traceCall } from "@memslot/core/host";
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
} from "./sync-state.ts";
import { type IndexParts, LongWork, type SyncParams } from "./rebuild-and-embed.ts";
import { createNoteDays, StoredListing } from "./stored-files.ts";
import { type SyncOutcome, syncFiles } from "./sync.ts";

const searchWaitsMs = 300;
const othersMayTakeMs = 200;
/** Maximum wait for another process that makes the first index. */
const firstIndexWaitsMs = 10_000;
const graceMs = 1500;
/** The same for a shared index: operations take seconds, and a dead host keeps its lease for 60. */
const sharedGraceMs = 90_000;

interface SearchScan {
  outcome: Promise<SearchCondition | undefined>;
  changed: number | undefined;
}

interface IndexSyncInput extends IndexParts {
  onSearch: boolean;
  readOnly?: boolean | undefined;
  names: { agentId: string; backend: string };
  /** Detects changes without a scan. Absent: every scan lists everything. */
  freshness?: Freshness | undefined;
}

export async function createIndexSync(input: IndexSyncInput): Promise<IndexSync> {
  const { store, readOnly = false } = input;
  const record = new IndexRecord(store, await store.stats(), !readOnly);
  if (readOnly || !isSharedByHosts(store.leases)) await record.findWriter();
  return new IndexSync(input, record);
}

/** Keeps an index up to date: coordinates writers and the wait of searches. */
export class IndexSync {
  readonly #input: IndexSyncInput;
  readonly #record: IndexRecord;
  readonly #listing: StoredListing;
  readonly #longWork: LongWork;
  readonly #daysOf = createNoteDays();
  readonly #closing = new AbortController();
  readonly #inTurn = pLimit(1);
  #next: SearchScan | undefined;
  #followed: string | undefined;

  constructor(input: IndexSyncInput, record: IndexRecord) {
    this.#input = input;
    this.#record = record;
    this.#listing = new StoredListing(input.store);
    this.#longWork = new LongWork(input, record, this.#closing.signal);
  }

  /** Indexes files, then runs long work: a due rebuild, and vectors. */
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
      // Without work no lease is requested, since that would be a write.
      if (!this.#longWork.isDue() && vectors?.isBehind() !== true) return done.report;
      return await this.#longWork.runForSearch(own, done);
    } catch (error) {
      if (!(error instanceof HeldElsewhere)) throw error;
      if (isAsked) throw busyError(error.holder);
      return { added: 0, changed: 0, removed: 0, unchanged: this.#record.facts.stats.files, failed: [] };
    }
  }

  /** Before a search: scans and waits briefly, unless `fresh` is false. Returns why the answer may be out of date. */
  async freshen(signal: AbortSignal, fresh = true): Promise<SearchCondition | undefined> {
    // Another process may have changed the index since the last count.
    await this.#follow();
    if (!this.#input.onSearch || !fresh) {
      const why = this.#record.whyStale();
      return why && { state: "stale", ...why };
    }
    // A running scan may have passed a note that was just saved.
    const scan = (this.#next ??= this.#plan(() => void (this.#next = undefined)));
    const before = this.#longWork.behind;
    const limitMs = this.#isEmpty() ? undefined : searchWaitsMs;
    const unfresh = await waitFor(scan.outcome, limitMs, signal, () => soFar(scan));
    // Vectors of one or two notes are quick and improve the answer.
    const { behind } = this.#longWork;
    if (this.#input.vectors && behind && behind !== before)
      await waitFor(behind, searchWaitsMs, signal, () => undefined);
    return unfresh;
  }

  /** Before a repeated search: reads these files again. Returns a reason if that takes too long. */
  async reread(keys: readonly FileKey[], signal: AbortSignal): Promise<SearchCondition | undefined> {
    const scan = this.#plan(() => this.#distrust(keys));
    await this.#record.count();
    const limitMs = this.#isEmpty() ? firstIndexWaitsMs : searchWaitsMs;
    return await waitFor(scan.outcome, limitMs, signal, () => soFar(scan));
  }

  async scan(reason: "watch" | "interval"): Promise<void> {
    const work = async (): Promise<void> => {
      await this.#input.store.revision({ fresh: true });
      if (reason === "interval") this.#input.freshness?.sweep("looked at by the clock");
      else if (await this.#isUnchanged()) return;
      await this.#pass(reason, () => othersMayTakeMs);
    };
    await this.#inTurn(work).catch(() => undefined);
  }

  markDirty(): void {
    this.#record.markDirty();
  }

  async stored(): Promise<StoredFiles> {
    return await this.#listing.files();
  }

  async days(places: readonly SearchedSource[]): Promise<readonly number[]> {
    return this.#daysOf(await this.#listing.files(), places);
  }

  facts(): IndexFacts {
    return this.#record.snapshot();
  }

  async history(): Promise<SyncRecord[]> {
    return await this.#record.history.list();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled([this.#inTurn(() => undefined), this.#longWork.close()]);
    await this.#record.history.settle();
  }

  #isEmpty(): boolean {
    return this.#record.facts.stats.chunks === 0;
  }

  #patience(): number {
    return this.#isEmpty() ? firstIndexWaitsMs : othersMayTakeMs;
  }

  /** Counts again if the active files have changed, by any process. */
  async #follow(): Promise<void> {
    const { store, vectors } = this.#input;
    const revision = await store.revision({ fresh: true });
    if (revision !== this.#followed) {
      await this.#record.count();
      await vectors?.count();
      this.#followed = this.#record.facts.isCounted ? revision : undefined;
      // Vectors of other processes change no file.
    } else if ((vectors?.facts().missing ?? 0) > 0) await vectors?.count();
  }

  /** Plans a scan after the running ones, starting with `first`. */
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
        const { changed: count } = scan;
        const who = sentenceOf(error);
        const why = count === undefined ? sentence("files.held", { who }) : sentence("files.heldSome", { count, who });
        return { state: "stale", ...why, count };
      }
      return { state: "stale", ...sentence("sync.impossible", { error: sentenceOf(error) }) };
    }
  }

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

  async #isUnchanged(): Promise<boolean> {
    const { sources, freshness } = this.#input;
    const found = this.#record.beginScan();
    if (freshness === undefined || !(await freshness.isUnchanged())) return false;
    if (sources.some((source) => source.isSettled?.() === false)) return false;
    if (!(await this.#listing.isCurrent()) || this.#longWork.isDue()) return false;
    found();
    return true;
  }

  async #pass(reason: string, waitMs: () => number, onPlanned?: (changed: number) => void): Promise<void> {
    const { names, vectors } = this.#input;
    const params: SyncParams = { reason, force: false, progress: () => {}, signal: this.#closing.signal };
    // Calls of an application are traced there.
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
            vectors?.warm();
            params.progress(update);
          },
        },
        onPlanned,
        withRight: (write) =>
          withWriteRight(store, "files", { ...params, waitMs }, async () => {
            // In the state that the previous lease owner left.
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

function soFar({ changed }: SearchScan): SearchCondition | undefined {
  // Nothing has changed; the rest of the scan still counts.
  if (changed === 0) return undefined;
  if (changed === undefined) return { state: "stale", ...sentence("files.unseen") };
  return { state: "stale", ...sentence("files.pending", { count: changed }), count: changed };
}

/** Waits for an outcome, or after `limitMs` returns a substitute. Rejects on abort. */
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
