import {
  type ManagerSyncParams,
  type MemoryRootStatus,
  type MemorySearchSettings,
  messageOf,
  type SyncProgress,
  type SyncReport,
} from "@memslot/core";
import type { ChunkStore, StoreStats } from "./chunk-store.ts";
import type { Embedder } from "./embedding/embedder.ts";
import { syncFiles } from "./sync.ts";

/** How long a search waits for the files to be indexed, before it answers from what is there. */
const searchWaitsMs = 300;
/** Reasons of a sync that nobody waits for. A provider that refuses everything is not asked again for one of them. */
const behindTheScenes: ReadonlySet<string> = new Set(["search", "watch", "interval", "session-start"]);
/** How long a sync for one search makes vectors before the search goes on with what is there. */
const searchFillsMs = 10_000;
/** How long a provider that failed is left alone by searches; a sync that somebody asks for tries it at once. */
const providerRestMs = 60_000;

/** What is known of the index without looking. */
interface IndexFacts {
  stats: StoreStats;
  roots: MemoryRootStatus[];
  lastSync: { finishedAt: string; report: SyncReport } | undefined;
  lastSyncError: string | undefined;
  /** Absent until a sync has looked at the files, unless there is nothing at all in the index. */
  dirty: boolean | undefined;
  /** Why chunks have no vector; undefined where all have one, or none is wanted. */
  missingVectors: string | undefined;
}

/** Keeps an index up to date: who may write when, and how long a search waits for it. */
export interface IndexSync {
  /** Files first, then vectors. */
  sync(params: ManagerSyncParams): Promise<SyncReport>;
  /**
   * For a search: looks at the files, from now on, and waits a little until their words are in, without end while the
   * index is empty. Vectors are made behind it. Gives the reason where the answer cannot be taken as fresh.
   */
  freshen(signal: AbortSignal): Promise<string | undefined>;
  facts(): IndexFacts;
  /** Stops what is running and waits for it. */
  close(): Promise<void>;
}

export async function createIndexSync(input: {
  store: ChunkStore;
  workspaceDir: string;
  settings: MemorySearchSettings;
  vectors: Embedder | undefined;
}): Promise<IndexSync> {
  const { store, workspaceDir, settings, vectors } = input;
  const closing = new AbortController();
  const facts: Omit<IndexFacts, "dirty"> = {
    stats: await store.stats(),
    roots: [],
    lastSync: undefined,
    lastSyncError: undefined,
    missingVectors: undefined,
  };
  const files = oneAtATime();
  const fills = oneAtATime();
  /** A look at the files that some search waits for and that has not begun: later searches wait for the same. */
  let nextSweep: Promise<string | undefined> | undefined;
  let providerRestsUntil = 0;
  /** Vectors that are being made with nobody waiting for all of them. */
  let filling: Promise<void> | undefined;
  let fillAgain = false;

  async function indexFiles(params: ManagerSyncParams): Promise<SyncReport> {
    try {
      const progress = (update: SyncProgress): void => {
        // Something has changed, and will want a vector.
        vectors?.warm();
        params.progress(update);
      };
      const outcome = await syncFiles({ store, workspaceDir, settings, params: { ...params, progress } });
      facts.roots = outcome.roots;
      facts.lastSync = { finishedAt: new Date().toISOString(), report: outcome.report };
      facts.lastSyncError = undefined;
      return outcome.report;
    } catch (error) {
      if (!params.signal.aborted) facts.lastSyncError = messageOf(error);
      throw error;
    } finally {
      facts.stats = await store.stats().catch(() => facts.stats);
    }
  }

  async function fillVectors(params: ManagerSyncParams): Promise<SyncReport["pendingVectors"]> {
    if (!vectors) return undefined;
    const { signal } = params;
    if (vectors.isBehind()) facts.missingVectors ??= "they are being made";
    try {
      const pending = await vectors.embedMissing({ ...params, asked: !behindTheScenes.has(params.reason) });
      facts.missingVectors = pending && `${pending.chunks} are left: ${pending.reason}`;
      if (pending) providerRestsUntil = Date.now() + providerRestMs;
      return pending;
    } catch (error) {
      facts.missingVectors = signal.aborted ? "making them was interrupted" : messageOf(error);
      throw error;
    } finally {
      facts.stats = await store.stats().catch(() => facts.stats);
    }
  }

  /** As many vectors as can be made in a moment: words answer for the rest. */
  async function fillForSearch(params: ManagerSyncParams): Promise<SyncReport["pendingVectors"]> {
    const patience = AbortSignal.timeout(searchFillsMs);
    try {
      return await fillVectors({ ...params, signal: AbortSignal.any([params.signal, patience]) });
    } catch (error) {
      if (params.signal.aborted || !patience.aborted) throw error;
      const { pending } = vectors?.facts().status ?? {};
      return { chunks: pending?.chunks ?? 0, reason: "making them takes longer than a search may wait" };
    }
  }

  /** Makes vectors and leaves what comes of it in the facts. While it runs, what is new is taken along. */
  function fillBehind(params: ManagerSyncParams): void {
    fillAgain = filling !== undefined;
    filling ??= fills(async () => {
      do {
        fillAgain = false;
        await fillVectors(params);
      } while (fillAgain && !params.signal.aborted);
    })
      .catch(() => undefined)
      .finally(() => (filling = undefined));
  }

  async function sweep(): Promise<string | undefined> {
    nextSweep = undefined;
    const params = { reason: "search", force: false, progress: () => {}, signal: closing.signal };
    try {
      const report = await indexFiles(params);
      if (report.added + report.changed + report.removed > 0) await vectors?.count();
      if (vectors?.isBehind() === true && Date.now() >= providerRestsUntil) fillBehind(params);
      return undefined;
    } catch (error) {
      return `the index could not be brought up to date: ${messageOf(error)}`;
    }
  }

  return {
    async sync(params) {
      const own = { ...params, signal: AbortSignal.any([params.signal, closing.signal]) };
      // A search comes after it and wants the vector of its question.
      if (params.reason === "search") vectors?.warm();
      const report = await files(async () => {
        own.signal.throwIfAborted();
        return await indexFiles(own);
      });
      const pending = await fills(async () => {
        own.signal.throwIfAborted();
        return await (params.reason === "search" ? fillForSearch(own) : fillVectors(own));
      });
      if (pending) report.pendingVectors = pending;
      return report;
    },

    async freshen(signal) {
      if (!settings.sync.onSearch) {
        if (facts.lastSyncError !== undefined) return `the last sync failed: ${facts.lastSyncError}`;
        const built = facts.lastSync !== undefined || facts.stats.files > 0;
        return built ? undefined : "the index has not been built yet: run `memslot memory index`";
      }
      // One that runs already may have passed the note that was saved a moment ago.
      nextSweep ??= files(sweep);
      const before = filling;
      const reason = await waitFor(nextSweep, facts.stats.chunks === 0 ? undefined : searchWaitsMs, signal);
      // Vectors of a note or two are there in a moment, and the answer is better with them.
      if (filling && filling !== before)
        await waitFor(
          filling.then(() => undefined),
          searchWaitsMs,
          signal,
        );
      return reason;
    },

    facts: () => ({ ...facts, dirty: isDirty(facts) }),

    async close() {
      closing.abort();
      await Promise.allSettled([files(async () => undefined), fills(async () => undefined)]);
    },
  };
}

/** Runs what it is given one after the other, whatever comes of each. */
function oneAtATime(): <Result>(run: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return async (run) => {
    const own = last.then(run);
    last = own.catch(() => undefined);
    return await own;
  };
}

function isDirty({ lastSync, lastSyncError, stats }: Omit<IndexFacts, "dirty">): boolean | undefined {
  if (lastSync) return lastSyncError !== undefined || lastSync.report.failed.length > 0;
  return stats.files === 0 || lastSyncError !== undefined ? true : undefined;
}

async function waitFor(
  outcome: Promise<string | undefined>,
  limitMs: number | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  signal.throwIfAborted();
  return await new Promise((resolve, reject) => {
    const stale = "files have changed and are still being indexed";
    const timer = limitMs === undefined ? undefined : setTimeout(() => resolve(stale), limitMs);
    const stop = (): void => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    outcome.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    });
  });
}
