import pLimit from "p-limit";
import { type ManagerSyncParams, type Sentence, type SyncProgress, type SyncReport, withDeadline } from "@memslot/core";
import { createCooldown, sentence, sentenceIn, sentenceOf } from "@memslot/core/host";
import type { NoteIndex } from "../note-index.ts";
import type { FileTable } from "../ledger/ledger.ts";
import type { Embedder } from "../embedding/embedder.ts";
import type { IndexedSource } from "../indexed-source.ts";
import { behindTheScenes, HeldElsewhere, type IndexRecord, withWriteRight } from "./sync-state.ts";
import { nothingDone, type OtherRecipe, type SyncOutcome, syncFiles } from "./sync.ts";
import { smallBatch } from "./stored-files.ts";

const searchFillsMs = 10_000;
const providerRestMs = 15_000;
/** Remembered recipes, and how long the last one owns an index. */
const mostOwners = 5;
const ownedMs = 24 * 60 * 60_000;
const keptNotice =
  "another process with another version of memslot, or other settings for chunks, rebuilt this index within the last day; its index answers. Use one version and one configuration, give each a store.path of its own, or run memslot memory index";

export type SyncParams = Omit<ManagerSyncParams, "wait">;

export interface IndexParts {
  store: NoteIndex;
  sources: readonly IndexedSource[];
  vectors: Embedder | undefined;
  notify?: ((line: string) => void) | undefined;
}

/** Long work after indexing: a due rebuild, and vectors. One process at a time. */
export class LongWork {
  readonly #parts: IndexParts & { record: IndexRecord; closing: AbortSignal };
  readonly #turns = pLimit(1);
  readonly #watchers = new Set<(update: SyncProgress) => void>();
  readonly #providerRest = createCooldown<true>();
  #nextTry: NodeJS.Timeout | undefined;
  #behind: Promise<void> | undefined;
  #again = false;
  #isKept = false;
  readonly #tellOthers = createProgressTeller(async (update) => await this.#parts.store.leases?.report(update));

  constructor(parts: IndexParts, record: IndexRecord, closing: AbortSignal) {
    this.#parts = { ...parts, record, closing };
  }

  get behind(): Promise<void> | undefined {
    return this.#behind;
  }

  isDue(): boolean {
    const { stats, outdated, waitingFor } = this.#parts.record.facts;
    const isBegun = stats.generation?.next !== undefined || this.#parts.vectors?.isBehind() === true;
    if (!outdated && !isBegun) return false;
    if (this.#providerRest.current()) return outdated && waitingFor === undefined;
    return isBegun || stats.files > 0;
  }

  async run(params: SyncParams, { report }: SyncOutcome): Promise<SyncReport> {
    const { store } = this.#parts;
    if (store.startBuild && this.#buildIsDue(params))
      return await this.#rebuild(await store.startBuild(buildName(this.#parts.sources)), params, report);
    // Started for settings that were reverted since.
    if (this.#parts.record.facts.stats.generation?.next) await store.abandonBuild();
    const pendingVectors = await this.#fillVectors(params);
    return pendingVectors ? { ...report, pendingVectors } : report;
  }

  async #rebuild(table: FileTable, params: SyncParams, report: SyncReport): Promise<SyncReport> {
    const { store, sources, vectors } = this.#parts;
    const { facts } = this.#parts.record;
    const own = { ...params, force: false, reason: "rebuild", sessions: undefined };
    const first = await syncFiles({ table, sources, batch: smallBatch, params: own });
    const pendingVectors = await this.#fillVectors(params);
    await syncFiles({ table, sources, batch: smallBatch, params: { ...own, progress: () => {} } });
    const waitingFor = await vectors?.obstacle();
    if (waitingFor === undefined) await store.finishBuild();
    facts.waitingFor = waitingFor;
    facts.outdated = waitingFor !== undefined;
    if (!facts.outdated) await this.#nowOwns();
    await vectors?.count();
    const { added, changed, unchanged, failed } = first.report;
    return {
      ...report,
      changed: Math.max(0, added + changed + unchanged - report.added),
      unchanged: 0,
      failed,
      ...(pendingVectors && { pendingVectors }),
    };
  }

  async inTurn(
    params: SyncParams,
    waitMs: number,
    work: (own: SyncParams) => Promise<SyncReport>,
  ): Promise<SyncReport> {
    const { store, record } = this.#parts;
    const { signal } = params;
    const alone = async (): Promise<SyncReport> => {
      signal.throwIfAborted();
      return await withWriteRight(store, "build", { ...params, waitMs: () => waitMs }, async () => {
        record.working(params.reason);
        try {
          return await work({ ...params, progress: (update) => this.#tell(update) });
        } finally {
          record.working(undefined);
          await record.count();
        }
      });
    };
    this.#watchers.add(params.progress);
    try {
      // An abort while waiting is reported at once.
      return await withDeadline({ what: "sync", signals: [signal] }, () => this.#turns(alone));
    } catch (error) {
      if (error instanceof HeldElsewhere) record.facts.writer = error.holder;
      else if (!signal.aborted) record.failed(error);
      throw error;
    } finally {
      this.#watchers.delete(params.progress);
    }
  }

  /** Does what is quick; existing data answers for the rest. */
  async runForSearch(params: SyncParams, done: SyncOutcome): Promise<SyncReport> {
    const patience = AbortSignal.timeout(searchFillsMs);
    const signal = AbortSignal.any([params.signal, patience]);
    try {
      return await this.inTurn({ ...params, signal }, 0, (own) => this.run(own, done));
    } catch (error) {
      if (params.signal.aborted) throw error;
      const { pending } = this.#parts.vectors?.facts().status ?? {};
      const chunks = pending?.chunks ?? 0;
      if (error instanceof HeldElsewhere) return withPending(done.report, chunks, sentenceOf(error));
      if (patience.aborted) return withPending(done.report, chunks, sentence("vectors.slow"));
      throw error;
    }
  }

  /** Runs long work in the background, including new changes; results are in the facts. */
  runBehind(params: SyncParams, done: SyncOutcome): void {
    this.#again = this.#behind !== undefined;
    const work = async (): Promise<void> => {
      do {
        this.#again = false;
        await this.inTurn(params, 0, (own) => this.run(own, done));
      } while (this.#again && !params.signal.aborted);
    };
    this.#behind ??= work()
      .catch((error: unknown) => {
        if (error instanceof HeldElsewhere) this.#parts.record.facts.missingVectors ??= sentenceOf(error);
      })
      .finally(() => (this.#behind = undefined));
  }

  async close(): Promise<void> {
    clearTimeout(this.#nextTry);
    await this.#turns(() => undefined);
  }

  #tell(update: SyncProgress): void {
    for (const watcher of this.#watchers) watcher(update);
    this.#parts.record.progress(update);
    this.#tellOthers(update);
  }

  #buildIsDue({ force }: SyncParams): boolean {
    const { stats, outdated } = this.#parts.record.facts;
    if (stats.files === 0) return false;
    return force || outdated || stats.generation?.next?.name === buildName(this.#parts.sources);
  }

  /** What to do with files of another recipe. `keep`: it was rebuilt for that within a day; avoids endless rebuilds. */
  async otherRecipe(isAsked: boolean): Promise<OtherRecipe> {
    if (this.#parts.store.startBuild === undefined) return "reread";
    const own = buildName(this.#parts.sources);
    const [last, ...before] = await this.#owners();
    if (last?.[0] === own) return "reread";
    if (last === undefined || Date.now() - last[1] > ownedMs || !before.some(([each]) => each === own))
      return "rebuild";
    if (!this.#isKept) this.#parts.notify?.(keptNotice);
    this.#isKept = true;
    return isAsked ? "rebuild" : "keep";
  }

  async #nowOwns(): Promise<void> {
    const own = buildName(this.#parts.sources);
    const others = (await this.#owners()).filter(([each]) => each !== own);
    await this.#parts.store.note("recipes", JSON.stringify([[own, Date.now()], ...others].slice(0, mostOwners)));
  }

  async #owners(): Promise<[recipe: string, at: number][]> {
    try {
      const text = await this.#parts.store.noted("recipes");
      return JSON.parse(text ?? "[]") as [string, number][];
    } catch {
      return [];
    }
  }

  async #fillVectors(params: SyncParams): Promise<SyncReport["pendingVectors"]> {
    const vectors = this.#parts.vectors;
    if (!vectors) return undefined;
    const { facts } = this.#parts.record;
    if (vectors.isBehind()) facts.missingVectors ??= sentence("vectors.made");
    try {
      const pending = await vectors.embedMissing({ ...params, asked: !behindTheScenes.has(params.reason) });
      facts.missingVectors =
        pending && sentence("vectors.leftFor", { count: pending.chunks, why: sentenceIn(pending) });
      if (pending) this.#providerRest.start(true, providerRestMs);
      if (pending?.failure === "transient" || pending?.failure === "rate") this.#tryAgainLater();
      return pending;
    } catch (error) {
      facts.missingVectors = params.signal.aborted ? sentence("vectors.interrupted") : sentenceOf(error);
      throw error;
    } finally {
      await this.#parts.record.count();
    }
  }

  #tryAgainLater(): void {
    clearTimeout(this.#nextTry);
    const tryAgain = (): void => {
      this.#providerRest.end();
      const params: SyncParams = { reason: "interval", force: false, progress: () => {}, signal: this.#parts.closing };
      const report: SyncReport = { ...nothingDone, failed: [] };
      const { outdated } = this.#parts.record.facts;
      if (this.isDue()) this.runBehind(params, { report, roots: [], sources: new Map(), outdated });
    };
    this.#nextTry = setTimeout(tryAgain, providerRestMs);
    this.#nextTry.unref();
  }
}

function withPending(report: SyncReport, chunks: number, why: Sentence): SyncReport {
  return chunks === 0 ? report : { ...report, pendingVectors: { chunks, ...why } };
}

const tellEveryMs = 500;

/** Throttles progress reports to one per interval; the last one is never lost. */
export function createProgressTeller(tell: (update: SyncProgress) => Promise<void>): (update: SyncProgress) => void {
  let untold: SyncProgress | undefined;
  let isResting = false;

  async function tellLatest(): Promise<void> {
    const update = untold;
    isResting = update !== undefined;
    if (update === undefined) return;
    untold = undefined;
    await tell(update).catch(() => undefined);
    setTimeout(() => void tellLatest(), tellEveryMs).unref();
  }

  return (update) => {
    untold = update;
    if (!isResting) void tellLatest();
  };
}

function buildName(sources: readonly IndexedSource[]): string {
  return sources.map(({ source, recipe }) => `${source}: ${recipe}`).join("; ");
}
