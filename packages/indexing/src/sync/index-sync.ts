import pLimit from "p-limit";
import {
  type ManagerSyncParams,
  createRest,
  messageOf,
  type SearchCondition,
  type SyncMessage,
  type SyncProgress,
  type SyncReport,
  traceCall,
  withDeadline,
} from "@memslot/core";
import type { ChunkIndex } from "../chunk-index.ts";
import type { FileKey } from "../chunk-store.ts";
import type { Embedder } from "../embedding/embedder.ts";
import type { IndexedSource } from "../indexed-source.ts";
import { createIndexFacts, type IndexFacts } from "./index-facts.ts";
import { buildName, rebuildIndex } from "./rebuild.ts";
import { createStoredListing } from "./stored-files.ts";
import { type SyncOutcome, syncFiles } from "./sync.ts";
import { waitFor } from "./wait-for.ts";
import { busyError, HeldElsewhere, withWriteRight } from "./write-right.ts";

/** How long a search waits for the files to be indexed, before it answers from what is there. */
const searchWaitsMs = 300;
/** How long of that for another process that writes, so that there is time left to say which one. */
const othersMayTakeMs = 200;
/** How long it waits for another process that makes the first index. */
const firstIndexWaitsMs = 10_000;
/** How long a sync that does not want to wait waits all the same: for what is done in a moment. */
const graceMs = 1500;
/** Reasons of a sync that nobody waits for. A provider that refuses everything is not asked again for one of them. */
const behindTheScenes: ReadonlySet<string> = new Set(["search", "watch", "interval", "session-start"]);
/** How long a sync for one search works on what takes long before the search goes on with what is there. */
const searchFillsMs = 10_000;
/**
 * How long a provider that failed is left alone, then it is tried again whether or not somebody searches; a sync that
 * somebody asks for tries it at once.
 */
const providerRestMs = 15_000;

/** Keeps an index up to date: who may write when, and how long a search waits for it. */
export interface IndexSync {
  /** Files first, then what takes long: a new build where one is due, and vectors. */
  sync(params: ManagerSyncParams): Promise<SyncReport>;
  /**
   * For a search: looks at the files, from now on, and waits a little until their words are in, without end while the
   * index is empty. Vectors are made behind it. Says why the answer cannot be taken as fresh, where it cannot.
   */
  freshen(signal: AbortSignal): Promise<SearchCondition | undefined>;
  /**
   * For a search: reads these files again, whatever their records say, and looks at all others. Says why that is not done,
   * where it takes longer than a while.
   */
  reread(files: readonly FileKey[], signal: AbortSignal): Promise<SearchCondition | undefined>;
  /** Looks at the files with nobody waiting for more than their words. Never throws: what fails is in the facts. */
  look(reason: "watch" | "interval"): Promise<void>;
  /** Something has changed, as a watcher says. */
  markDirty(): void;
  facts(): IndexFacts;
  /** Stops what is running and waits for it. */
  close(): Promise<void>;
}

type Params = Omit<ManagerSyncParams, "wait">;

/** A look at the files for searches. */
interface Sweep {
  outcome: Promise<SearchCondition | undefined>;
  /** How many files have changed; undefined until all were looked at. */
  changed: number | undefined;
}

export async function createIndexSync(input: {
  store: ChunkIndex;
  sources: readonly IndexedSource[];
  onSearch: boolean;
  vectors: Embedder | undefined;
  /** Whose index it is, for whoever looks inside. */
  names: { agentId: string; backend: string };
}): Promise<IndexSync> {
  const { store, sources, onSearch, vectors, names } = input;
  const closing = new AbortController();
  const record = await createIndexFacts(store);
  const { facts } = record;
  const listing = createStoredListing(store);
  const files = pLimit(1);
  const longWork = pLimit(1);
  /** Whoever wants to see how far the long work is. */
  const watchers = new Set<(update: SyncProgress) => void>();
  /** A look at the files that some search waits for and that has not begun: later searches wait for the same. */
  let nextSweep: Sweep | undefined;
  const providerRest = createRest<true>();
  let nextTry: NodeJS.Timeout | undefined;
  /** The state of the store that the facts were counted at. */
  let followed: string | undefined;
  /** Long work with nobody waiting for all of it. */
  let working: Promise<void> | undefined;
  let workAgain = false;

  /** Brings the words that answer up to date. */
  async function indexFiles(
    params: Params,
    waitMs: () => number,
    onPlanned?: (changed: number) => void,
  ): Promise<SyncOutcome> {
    const progress = (update: SyncProgress): void => {
      // Something has changed, and will want a vector.
      vectors?.warm();
      params.progress(update);
    };
    const { reason, signal } = params;
    return await record.sync(params, () =>
      syncFiles({
        table: store,
        listing,
        sources,
        // With builds, files of another recipe answer until the new build takes over.
        recipeCounts: store.builds === undefined,
        params: { ...params, progress, force: params.force && store.builds === undefined },
        onPlanned,
        withRight: (write) => withWriteRight(store, "files", { reason, waitMs, signal }, write),
      }),
    );
  }

  async function fillVectors(params: Params): Promise<SyncReport["pendingVectors"]> {
    if (!vectors) return undefined;
    const { signal } = params;
    if (vectors.isBehind()) facts.missingVectors ??= "they are being made";
    try {
      const pending = await vectors.embedMissing({ ...params, asked: !behindTheScenes.has(params.reason) });
      facts.missingVectors = pending && `${pending.chunks} are left: ${pending.reason}`;
      if (pending) providerRest.start(true, providerRestMs);
      if (pending?.failure === "transient" || pending?.failure === "rate") tryAgainLater();
      return pending;
    } catch (error) {
      facts.missingVectors = signal.aborted ? "making them was interrupted" : messageOf(error);
      throw error;
    } finally {
      await record.count();
    }
  }

  /** A provider that is back is noticed by itself. */
  function tryAgainLater(): void {
    clearTimeout(nextTry);
    const tryAgain = (): void => {
      // A timer may come a little early.
      providerRest.end();
      const params: Params = { reason: "interval", force: false, progress: () => {}, signal: closing.signal };
      const report: SyncReport = { added: 0, changed: 0, removed: 0, unchanged: 0, failed: [] };
      if (isBehind()) workBehind(params, { report, roots: [], sources: new Map(), outdated: facts.outdated });
    };
    nextTry = setTimeout(tryAgain, providerRestMs);
    // Nothing waits for it.
    nextTry.unref();
  }

  /** The build to make: a new one, or one that was begun before. */
  function buildIsDue({ force }: Params): boolean {
    const { stats } = facts;
    if (!store.builds || stats.files === 0) return false;
    return force || facts.outdated || stats.generation?.next?.name === buildName(sources);
  }

  /** What takes long, with the right to it. */
  async function workLong(params: Params, done: SyncOutcome): Promise<SyncReport> {
    const { report } = done;
    if (!store.builds || !buildIsDue(params)) {
      // Begun for settings that have been taken back since.
      if (facts.stats.generation?.next) await store.builds?.abandon();
      const pending = await fillVectors(params);
      return pending ? { ...report, pendingVectors: pending } : report;
    }
    const rebuilt = await rebuildIndex({
      builds: store.builds,
      sources,
      params,
      fill: () => fillVectors(params),
      obstacle: async () => await vectors?.obstacle(),
    });
    facts.waitingFor = rebuilt.waitingFor;
    facts.outdated = rebuilt.waitingFor !== undefined;
    await vectors?.count();
    const { added, changed, unchanged, failed } = rebuilt.files.report;
    return {
      ...report,
      changed: Math.max(0, added + changed + unchanged - report.added),
      unchanged: 0,
      failed,
      ...(rebuilt.pendingVectors && { pendingVectors: rebuilt.pendingVectors }),
    };
  }

  /** Does the long work in its turn, as the only process that does. Others can see how far it is. */
  async function inTurn(
    params: Params,
    waitMs: number,
    work: (own: Params) => Promise<SyncReport>,
  ): Promise<SyncReport> {
    const { reason, signal } = params;
    watchers.add(params.progress);
    const progress = (update: SyncProgress): void => {
      for (const watcher of watchers) watcher(update);
      record.progress(update);
      void store.leases?.report(update).catch(() => undefined);
    };
    try {
      const own = async (): Promise<SyncReport> => {
        signal.throwIfAborted();
        const right = { reason, waitMs: () => waitMs, signal, progress: params.progress };
        return await withWriteRight(store, "build", right, async () => {
          record.working(reason);
          try {
            return await work({ ...params, progress });
          } finally {
            record.working(undefined);
            await record.count();
          }
        });
      };
      // Whoever gives up waiting for its turn is told at once.
      return await withDeadline({ what: "sync", signals: [signal] }, () => longWork(own));
    } catch (error) {
      if (error instanceof HeldElsewhere) record.heldBy(error.holder);
      else if (!signal.aborted) record.failed(error);
      throw error;
    } finally {
      watchers.delete(params.progress);
    }
  }

  /** As much of the long work as can be done in a moment: what is there answers for the rest. */
  async function workForSearch(params: Params, done: SyncOutcome): Promise<SyncReport> {
    const patience = AbortSignal.timeout(searchFillsMs);
    const signal = AbortSignal.any([params.signal, patience]);
    try {
      return await inTurn({ ...params, signal }, 0, (own) => workLong(own, done));
    } catch (error) {
      if (params.signal.aborted) throw error;
      const { pending } = vectors?.facts().status ?? {};
      const chunks = pending?.chunks ?? 0;
      if (error instanceof HeldElsewhere) return withPending(done.report, chunks, error.message);
      if (patience.aborted) return withPending(done.report, chunks, "making them takes longer than a search may wait");
      throw error;
    }
  }

  /** Does the long work and leaves what comes of it in the facts. While it runs, what is new is taken along. */
  function workBehind(params: Params, done: SyncOutcome): void {
    workAgain = working !== undefined;
    const work = async (): Promise<void> => {
      do {
        workAgain = false;
        await inTurn(params, 0, (own) => workLong(own, done));
      } while (workAgain && !params.signal.aborted);
    };
    working ??= work()
      .catch((error: unknown) => {
        if (error instanceof HeldElsewhere) facts.missingVectors ??= error.message;
      })
      .finally(() => (working = undefined));
  }

  function isBehind(): boolean {
    const { stats, outdated } = facts;
    if (providerRest.current()) return outdated && facts.waitingFor === undefined;
    return (outdated && stats.files > 0) || stats.generation?.next !== undefined || vectors?.isBehind() === true;
  }

  /** Counts again where the files that answer have changed since, whichever process has done it. */
  async function follow(): Promise<void> {
    const revision = await store.revision?.();
    if (revision === undefined || revision !== followed) {
      await record.count();
      await vectors?.count();
      followed = revision;
      // Vectors that others make change no file.
    } else if ((vectors?.facts().missing ?? 0) > 0) await vectors?.count();
  }

  function searchPatience(): number {
    return facts.stats.chunks === 0 ? firstIndexWaitsMs : othersMayTakeMs;
  }

  async function pass(reason: string, waitMs: () => number, onPlanned?: (changed: number) => void): Promise<void> {
    const params: Params = { reason, force: false, progress: () => {}, signal: closing.signal };
    // What an application asks for is told where it asks.
    const done = await traceCall(
      "sync",
      () => ({ ...names, reason, force: false }),
      () => indexFiles(params, waitMs, onPlanned),
      ({ report }) => countsOf(report),
    );
    const { added, changed, removed } = done.report;
    if (added + changed + removed > 0) await vectors?.count();
    if (isBehind()) workBehind(params, done);
  }

  /** A look that begins, with `first`, when those before it have ended. */
  function planSweep(first: () => Promise<void> | void): Sweep {
    const sweep: Sweep = { changed: undefined, outcome: files(look) };
    async function look(): Promise<SearchCondition | undefined> {
      try {
        await first();
        await pass("search", searchPatience, (changed) => (sweep.changed = changed));
        return undefined;
      } catch (error) {
        if (error instanceof HeldElsewhere) {
          const reason = `${changedFiles(sweep.changed)} and ${error.message}`;
          return { state: "stale", reason, count: sweep.changed };
        }
        return { state: "stale", reason: `the index could not be brought up to date: ${messageOf(error)}` };
      }
    }
    return sweep;
  }

  /** Makes files count as changed. */
  async function distrust(keys: readonly FileKey[]): Promise<void> {
    // Somebody who edits the index by hand does not say that it has changed.
    listing.forget();
    const known = await listing.files();
    const records = keys.flatMap(({ source, path }) => {
      const record = known.get(source)?.get(path);
      return record === undefined ? [] : [{ ...record, hash: "", mtimeMs: -1, cursor: undefined }];
    });
    if (records.length === 0) return;
    const right = { reason: "search", waitMs: searchPatience, signal: closing.signal };
    await withWriteRight(store, "files", right, () => store.touchFiles(records));
  }

  return {
    async sync({ wait, ...params }) {
      const own = { ...params, signal: AbortSignal.any([params.signal, closing.signal]) };
      // A search comes after it and wants the vector of its question.
      if (params.reason === "search") vectors?.warm();
      const isAsked = !behindTheScenes.has(params.reason);
      const waitMs = wait ? Number.POSITIVE_INFINITY : graceMs;
      const indexed = async (given: Params): Promise<SyncOutcome> =>
        await files(async () => {
          own.signal.throwIfAborted();
          return await indexFiles(given, isAsked ? () => waitMs : searchPatience);
        });
      try {
        if (isAsked) return await inTurn(own, waitMs, async (given) => await workLong(given, await indexed(given)));
        return await workForSearch(own, await indexed(own));
      } catch (error) {
        if (!(error instanceof HeldElsewhere)) throw error;
        if (isAsked) throw busyError(error.holder);
        // The answer that follows says that it is stale.
        return { added: 0, changed: 0, removed: 0, unchanged: facts.stats.files, failed: [] };
      }
    },

    async freshen(signal) {
      // Another process may have made the index, or changed it, since this one counted.
      await follow();
      if (!onSearch) {
        const reason = record.whyStale();
        return reason === undefined ? undefined : { state: "stale", reason };
      }
      // One that runs already may have passed the note that was saved a moment ago.
      const sweep = (nextSweep ??= planSweep(() => void (nextSweep = undefined)));
      const before = working;
      const limitMs = facts.stats.chunks === 0 ? undefined : searchWaitsMs;
      const unfresh = await waitFor(sweep.outcome, limitMs, signal, () => soFar(sweep));
      // Vectors of a note or two are there in a moment, and the answer is better with them.
      if (vectors && working && working !== before) await waitFor(working, searchWaitsMs, signal, () => undefined);
      return unfresh;
    },

    async reread(keys, signal) {
      const sweep = planSweep(() => distrust(keys));
      await record.count();
      const limitMs = facts.stats.chunks === 0 ? firstIndexWaitsMs : searchWaitsMs;
      return await waitFor(sweep.outcome, limitMs, signal, () => soFar(sweep));
    },

    async look(reason) {
      await files(() => pass(reason, () => othersMayTakeMs)).catch(() => undefined);
    },

    markDirty: record.markDirty,
    facts: record.snapshot,

    async close() {
      closing.abort();
      clearTimeout(nextTry);
      await Promise.allSettled([files(async () => undefined), longWork(async () => undefined)]);
    },
  };
}

/** What is known of the files when a search goes on without the end of its look at them. */
function soFar({ changed }: Sweep): SearchCondition | undefined {
  // Nothing has changed: what is left of the look is to count.
  if (changed === 0) return undefined;
  if (changed === undefined) return { state: "stale", reason: "not all files were looked at yet" };
  const verb = changed === 1 ? "is" : "are";
  return { state: "stale", reason: `${changedFiles(changed)} and ${verb} still being indexed`, count: changed };
}

function changedFiles(count: number | undefined): string {
  if (count === undefined) return "files have changed";
  return count === 1 ? "1 file has changed" : `${count} files have changed`;
}

function countsOf({ added, changed, removed, unchanged, failed }: SyncReport): Partial<SyncMessage> {
  return { added, changed, removed, unchanged, failed: failed.length };
}

function withPending(report: SyncReport, chunks: number, reason: string): SyncReport {
  return chunks === 0 ? report : { ...report, pendingVectors: { chunks, reason } };
}
