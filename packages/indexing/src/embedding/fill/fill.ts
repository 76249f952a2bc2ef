import { EmbeddingError, embeddingErrorOf, type MemorySearchSettings, type SyncProgress } from "@memslot/core";
import type { NoteIndex } from "../../note-index.ts";
import { spaceName, type VectorSpace } from "../../chunk-store.ts";
import { chunkHash } from "../../text/chunk-markdown.ts";
import { type BatchRunOptions, fillByJobs } from "../jobs/batch-jobs.ts";
import type { Lane } from "../lane.ts";
import { type EmbedOptions, knock } from "../requests/requests.ts";
import { type Budget, OverBudget } from "../requests/usage.ts";
import { fillByRequests, type RequestFill } from "./fill-by-requests.ts";
import { embeddingLabel, FillProgress, type FillStop } from "./pending.ts";

export interface FillOptions extends Omit<RequestFill, "progress" | "accept"> {
  /** Undefined: direct calls only. */
  batch: BatchRunOptions | undefined;
  progress: (update: SyncProgress) => void;
}

/** What is left. */
export interface FillOutcome extends FillStop {
  /** Chunks without a vector that are not quarantined, also of a build that is being made. */
  chunks: number;
}

/**
 * Makes the vectors that a space misses, and keeps each as it comes: a fill that was interrupted goes on where it was.
 * Texts that the provider refuses are quarantined. Gives what is left and why when the provider fails or the budget is
 * spent; undefined when nothing is left. Throws the reason of an abort, and what the store throws.
 */
export async function fillSpace(options: FillOptions): Promise<FillOutcome | undefined> {
  const { store, space, batch, signal } = options;
  signal.throwIfAborted();
  const progress = new FillProgress(await countMissing(store, space), space.provider, options.progress);
  const fill = { ...options, progress };
  const stop = batch ? await fillByJobs(batch, fill) : await fillByRequests(fill);
  signal.throwIfAborted();
  if (!stop) {
    progress.finish();
    return undefined;
  }
  const chunks = await countMissing(store, space);
  return chunks === 0 ? undefined : { ...stop, chunks };
}

async function countMissing(store: Pick<NoteIndex, "spaceStats">, space: VectorSpace): Promise<number> {
  const { pending, nextPending = 0 } = await store.spaceStats(space);
  return pending + nextPending;
}

/** With fewer texts than this a batch job would cost more waiting than it saves. */
const textsForBatch = 100;
/** One that was down is asked with a single word whether it is back, before it gets much. */
const knockMs = 10_000;
/** A provider that is asked only whether its vectors have the length of the stored ones is not waited for longer. */
const looksMs = 8000;

export interface FillRequest {
  /** Who wants it, for the count of usage: `cli`, `search`, `watch`. */
  reason: string;
  /** A person asked for it, so that a provider that refused is tried once more. */
  asked: boolean;
  /** Quarantined texts are tried again, and another length of vectors is accepted. */
  force: boolean;
  signal: AbortSignal;
  progress: (update: SyncProgress) => void;
}

interface LaneFillContext {
  store: NoteIndex;
  remote: MemorySearchSettings["remote"];
  stateDir: string;
  agentId: string;
  budget: Budget | undefined;
  notify: (line: string) => void;
  /** Whether every chunk has the same vector: then each is made again if that is forced. */
  isSame: () => Promise<boolean>;
}

/**
 * Makes the vectors that the space of a lane misses. If none is missing, no request is made, unless a person asks after
 * another address was configured. A provider that serves another model under the same name, with vectors of another length, gets a space of
 * its own, which is filled.
 */
export async function fillLane(
  lane: Lane,
  request: FillRequest,
  context: LaneFillContext,
): Promise<FillOutcome | undefined> {
  return await new LaneFill(lane, request, context).run();
}

class LaneFill {
  readonly #lane: Lane;
  readonly #request: FillRequest;
  readonly #context: LaneFillContext;
  readonly #asking: EmbedOptions & Pick<FillRequest, "progress">;

  constructor(lane: Lane, request: FillRequest, context: LaneFillContext) {
    const { signal, reason, asked, progress } = request;
    const onRetry = (words: string): void => this.#tell(words);
    this.#lane = lane;
    this.#request = request;
    this.#context = context;
    this.#asking = { signal, reason, asked, progress, budget: context.budget, onRetry };
  }

  async run(): Promise<FillOutcome | undefined> {
    const lane = this.#lane;
    try {
      const outcome = await this.#fillKnown();
      lane.isDown = outcome?.error?.kind === "transient";
      return outcome;
    } catch (error) {
      if (!EmbeddingError.is(error) && !(error instanceof OverBudget)) throw error;
      lane.isDown = EmbeddingError.is(error, "transient");
      const chunks = (await lane.count())?.pending ?? (await this.#context.store.stats()).chunks;
      return { chunks, reason: error.message, error: EmbeddingError.is(error) ? error : undefined };
    } finally {
      await lane.count().catch(() => undefined);
    }
  }

  async #fillKnown(): Promise<FillOutcome | undefined> {
    const lane = this.#lane;
    const { store, isSame } = this.#context;
    const { signal, progress, asked, force } = this.#request;
    const before = await lane.knownSpace();
    const isAgain = force && (await isSame());
    const space = (await this.#spaceToFill()) ?? (isAgain ? before : undefined);
    if (!space) return undefined;
    if (lane.isDown && !asked) await this.#knock();
    await lane.prepare({ signal, progress, retry: true });
    this.#tellChange(before, space);
    const outcome = await this.#fill(space, isAgain);
    if (outcome === undefined) await store.note(shownBy(space), lane.fingerprint);
    if (outcome?.length === undefined || lane.provider.dimensions !== undefined) return outcome;
    // A single answer may be wrong.
    const shown = await lane.measureSpace(this.#asking);
    if (shown.dimensions === space.dimensions) return outcome;
    this.#tellChange(space, shown);
    return await this.#fill(shown, isAgain);
  }

  async #fill(space: VectorSpace, isAgain: boolean): Promise<FillOutcome | undefined> {
    const { provider, requests } = this.#lane;
    const { store, remote, stateDir, agentId, notify } = this.#context;
    const batches = remote.batch.enabled ? provider.batches : undefined;
    return await fillSpace({
      ...this.#asking,
      store: isAgain ? await withEveryText(store) : store,
      space,
      requests,
      concurrency: provider.maxConcurrency ?? remote.nonBatchConcurrency,
      batch: batches && { batches, settings: remote.batch, stateDir, agentId, notify, minTexts: textsForBatch },
    });
  }

  /** The space, if anything is missing in it. */
  async #spaceToFill(): Promise<VectorSpace | undefined> {
    const lane = this.#lane;
    const { store } = this.#context;
    const { force, asked } = this.#request;
    const { chunks, generation } = await store.stats();
    if (chunks + (generation?.next?.chunks ?? 0) === 0) return undefined;
    const isStated = lane.provider.dimensions !== undefined;
    const known = force && !isStated ? undefined : await lane.knownSpace();
    if (!known) this.#tell();
    const space = known ?? (await this.#measure());
    if (force) await store.releaseQuarantine(space);
    if ((await countMissing(store, space)) > 0) return space;
    if (!asked || isStated || !known || (await store.noted(shownBy(space))) === lane.fingerprint) return undefined;
    // Another address may make other vectors under the same name, or not answer.
    const { signal } = this.#asking;
    const own = AbortSignal.any([signal, AbortSignal.timeout(looksMs)]);
    const shown = await lane.measureSpace({ ...this.#asking, signal: own }).catch(() => signal.throwIfAborted());
    if (shown?.dimensions === space.dimensions) await store.note(shownBy(space), lane.fingerprint);
    return shown && (await countMissing(store, shown)) > 0 ? shown : undefined;
  }

  /** One that was down is not waited for by those who did not ask for it. */
  async #measure(): Promise<VectorSpace> {
    const lane = this.#lane;
    await lane.prepare({ ...this.#asking, retry: true });
    if (lane.isDown && !this.#asking.asked && lane.provider.dimensions === undefined) await this.#knock();
    return await lane.measureSpace(this.#asking);
  }

  async #knock(): Promise<void> {
    const { provider, requests } = this.#lane;
    const asking = this.#asking;
    try {
      await knock(requests, knockMs, asking);
    } catch (error) {
      asking.signal.throwIfAborted();
      if (error instanceof OverBudget) throw error;
      throw embeddingErrorOf(error, provider.id);
    }
  }

  #tell(words?: string): void {
    this.#request.progress({ completed: 0, total: 0, label: embeddingLabel(this.#lane.provider.id, words) });
  }

  #tellChange(before: VectorSpace | undefined, { provider, model, dimensions }: VectorSpace): void {
    if (before === undefined || before.dimensions === dimensions) return;
    this.#context.notify(
      `${provider} makes vectors of ${dimensions} numbers for ${model} where the stored ones have ${before.dimensions}: all chunks are embedded anew, and the earlier vectors are kept beside them`,
    );
  }
}

/** A store that names every text of the index, also those that have a vector. */
async function withEveryText(store: NoteIndex): Promise<FillOptions["store"]> {
  const sources = (await store.stats()).sources.map(({ source }) => source);
  const chunks = await store.listChunks({ sources, withText: true });
  return {
    pendingVectors: async () =>
      chunks.map(({ context, text }) => ({ hash: chunkHash({ context, text }), context, text })),
    putVectors: async (space, entries) => await store.putVectors(space, entries),
    quarantine: async (space, entries) => await store.quarantine(space, entries),
    spaceStats: async (space) => await store.spaceStats(space),
  };
}

/** Names the note that says which address, key and model made the vectors of a space last. */
function shownBy(space: VectorSpace): string {
  return `space:shown-by:${spaceName(space)}`;
}
