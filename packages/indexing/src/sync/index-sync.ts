import pLimit from "p-limit";
import {
  type ManagerSyncParams,
  type SearchCondition,
  type SyncMessage,
  type SyncRecord,
  type SyncReport,
  lazily,
  traceCall,
} from "@memslot/core";
import type { ChunkIndex } from "../chunk-index.ts";
import { type FileKey, isAsked } from "../chunk-store.ts";
import type { Embedder } from "../embedding/embedder.ts";
import type { IndexedSource } from "../indexed-source.ts";
import type { CatchUp } from "../fresh/catch-up.ts";
import type { SearchedSource } from "../search/search-outcome.ts";
import { Freshness, othersMayTakeMs } from "./freshness.ts";
import { behindTheScenes, openRecord, type IndexFacts } from "./index-facts.ts";
import { RecipeOwner, buildName, LongWork, type LongWorkParts, type SyncParams } from "./long-work.ts";
import { type StoredFiles, StoredListing } from "./stored-files.ts";
import { type SyncOutcome, syncFiles } from "./sync.ts";
import { busyError, HeldElsewhere, withWriteRight } from "./write-right.ts";
import { timeOfPath } from "../text/times/time-of-path.ts";

/** How long a sync that does not want to wait waits all the same: for what is done in a moment. */
const graceMs = 1500;
/** The same where hosts share the index: what takes a moment here takes seconds there, and one that died keeps its right for 60. */
const sharedGraceMs = 90_000;

const keptNotice =
  "another process with another version of memslot, or other settings for chunks, rebuilt this index within the last day; its index answers. Use one version and one configuration, give each a store.path of its own, or run memslot memory index";

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
  /** What the index holds, by source. */
  stored(): Promise<StoredFiles>;
  /** The days that there are notes of in these places, in order. */
  days(places: readonly SearchedSource[]): Promise<readonly number[]>;
  facts(): IndexFacts;
  /** The last syncs, the newest first, over all processes. */
  history(): Promise<SyncRecord[]>;
  /** Stops what is running and waits for it. */
  close(): Promise<void>;
}

/** What bringing the files up to date works with. */
interface FileParts extends Omit<LongWorkParts, "closing"> {
  listing: StoredListing;
  catchUp: CatchUp | undefined;
}

export async function createIndexSync(input: {
  store: ChunkIndex;
  sources: readonly IndexedSource[];
  onSearch: boolean;
  vectors: Embedder | undefined;
  /** True for somebody who wants to know how the index is. */
  lookOnly?: boolean | undefined;
  /** Whose index it is, for whoever looks inside. */
  names: { agentId: string; backend: string };
  /** Takes what a person should know. */
  notify?: ((line: string) => void) | undefined;
  /** Learns what has changed without a look at all files; absent: each look asks the file system for everything. */
  catchUp?: CatchUp | undefined;
}): Promise<IndexSync> {
  const { store, sources, onSearch, vectors, names, catchUp } = input;
  const closing = new AbortController();
  const record = await openRecord(store, {
    looksForWriter: input.lookOnly === true || store.isShared !== true,
    keepsHistory: input.lookOnly !== true,
  });
  const listing = new StoredListing(store);
  const owner = new RecipeOwner(
    store.spaceFacts,
    buildName(sources),
    lazily(() => input.notify?.(keptNotice)),
  );
  const fileParts: FileParts = { index: store, listing, sources, vectors, record, owner, catchUp };
  const daysOf = createNoteDays();
  const files = pLimit(1);
  const longWork = new LongWork({ ...fileParts, closing: closing.signal });
  const freshness = new Freshness({
    ...fileParts,
    longWork,
    onSearch,
    closing: closing.signal,
    inTurn: (work) => files(work),
    isUnchanged,
    pass: (waitMs, onPlanned) => pass("search", waitMs, onPlanned),
  });

  /** To be asked before each look that need not ask for everything. */
  async function isUnchanged(): Promise<boolean> {
    const found = record.beginLook();
    if (catchUp === undefined || !(await catchUp.isUnchanged())) return false;
    if (sources.some((source) => source.isSettled?.() === false)) return false;
    const revision = await store.revision?.();
    if (revision === undefined || revision !== listing.revision() || longWork.isDue()) return false;
    found();
    return true;
  }

  async function pass(reason: string, waitMs: () => number, onPlanned?: (changed: number) => void): Promise<void> {
    const params: SyncParams = { reason, force: false, progress: () => {}, signal: closing.signal };
    // What an application asks for is told where it asks.
    const done = await traceCall(
      "sync",
      () => ({ ...names, reason, force: false }),
      () => indexFiles(fileParts, params, waitMs, onPlanned),
      ({ report }) => countsOf(report),
    );
    const { added, changed, removed } = done.report;
    if (added + changed + removed > 0 || vectors?.facts().missing === undefined) await vectors?.count();
    if (longWork.isDue()) longWork.runBehind(params, done);
  }

  return {
    async sync({ wait, ...params }) {
      const own = { ...params, signal: AbortSignal.any([params.signal, closing.signal]) };
      await store.revision?.({ anew: true });
      // A search comes after it and wants the vector of its question.
      if (params.reason === "search") vectors?.warm();
      const isAsked = !behindTheScenes.has(params.reason);
      const waitMs = wait ? Number.POSITIVE_INFINITY : store.isShared === true ? sharedGraceMs : graceMs;
      const indexed = async (given: SyncParams): Promise<SyncOutcome> =>
        await files(async () => {
          own.signal.throwIfAborted();
          catchUp?.sweep("a sync was asked for");
          return await indexFiles(fileParts, given, isAsked ? () => waitMs : () => freshness.patience());
        });
      try {
        if (isAsked)
          return await longWork.inTurn(own, waitMs, async (given) => await longWork.run(given, await indexed(given)));
        const done = await indexed(own);
        await vectors?.count();
        // The right to do it is only asked for where there is something to do: that alone would be a write.
        if (!longWork.isDue() && vectors?.isBehind() !== true) return done.report;
        return await longWork.runForSearch(own, done);
      } catch (error) {
        if (!(error instanceof HeldElsewhere)) throw error;
        if (isAsked) throw busyError(error.holder);
        // The answer that follows says that it is stale.
        return { added: 0, changed: 0, removed: 0, unchanged: record.facts.stats.files, failed: [] };
      }
    },

    freshen: (signal) => freshness.freshen(signal),
    reread: (keys, signal) => freshness.reread(keys, signal),

    async look(reason) {
      const work = async (): Promise<void> => {
        await store.revision?.({ anew: true });
        if (reason === "interval") catchUp?.sweep("looked at by the clock");
        else if (await isUnchanged()) return;
        await pass(reason, () => othersMayTakeMs);
      };
      await files(work).catch(() => undefined);
    },

    stored: () => listing.files(),
    days: async (places) => daysOf(await listing.files(), places),
    markDirty: () => record.markDirty(),
    facts: () => record.snapshot(),
    history: () => record.history.list(),

    async close() {
      closing.abort();
      await Promise.allSettled([files(async () => undefined), longWork.close()]);
      await record.history.settle();
    },
  };
}

/** Brings the words that answer up to date. */
async function indexFiles(
  { index: store, listing, sources, vectors, record, owner, catchUp }: FileParts,
  params: SyncParams,
  waitMs: () => number,
  onPlanned?: (changed: number) => void,
): Promise<SyncOutcome> {
  const { reason, signal } = params;
  const isAsked = !behindTheScenes.has(reason);
  // With single transcripts named, the others are not looked at.
  const news = params.sessions === undefined ? catchUp : undefined;
  const foundAll = news?.begin();
  const outcome = await record.sync(params, () =>
    syncFiles({
      table: store,
      listing,
      sources,
      look: news?.view,
      isAsked,
      // With builds, files of another recipe answer until the new build takes over.
      async otherRecipe() {
        if (store.builds === undefined) return "reread";
        const decided = await owner.decide();
        return isAsked && decided === "keep" ? "rebuild" : decided;
      },
      params: {
        ...params,
        force: params.force && store.builds === undefined,
        progress(update) {
          // Something has changed, and will want a vector.
          vectors?.warm();
          params.progress(update);
        },
      },
      onPlanned,
      withRight: (write) =>
        withWriteRight(store, "files", { reason, waitMs, signal, progress: params.progress }, async () => {
          // As whoever had the right before has left it.
          await store.revision?.({ anew: true });
          await write();
        }),
    }),
  );
  if (outcome.report.failed.length === 0) foundAll?.();
  return outcome;
}

function countsOf({ added, changed, removed, unchanged, failed }: SyncReport): Partial<SyncMessage> {
  return { added, changed, removed, unchanged, failed: failed.length };
}

/** Gives the days, in order, that there are notes of in these places, by their names. Nobody learns of what may not be seen. */
export function createNoteDays(): (files: StoredFiles, places: readonly SearchedSource[]) => number[] {
  let known: { files: StoredFiles; dated: { path: string; source: string; day: number }[] } | undefined;
  return (files, places) => {
    if (known?.files !== files) known = { files, dated: datedIn(files) };
    const days = new Set<number>();
    for (const file of known.dated) {
      const isSeen = places.some(({ source, scope }) => isAsked(file, { sources: [source], scope }));
      if (isSeen) days.add(file.day);
    }
    return [...days].toSorted((a, b) => a - b);
  };
}

function datedIn(files: StoredFiles): { path: string; source: string; day: number }[] {
  return [...files].flatMap(([source, own]) =>
    [...own.keys()].flatMap((path) => {
      const day = timeOfPath(path)?.from;
      return day === undefined ? [] : [{ path, source, day }];
    }),
  );
}
