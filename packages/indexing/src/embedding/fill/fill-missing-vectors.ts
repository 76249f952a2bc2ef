import { ProviderError, type SyncProgress } from "@memslot/core";
import { embeddingErrorOf, sentenceOf } from "@memslot/core/host";
import { spaceName, type VectorSpace } from "../../chunk-store.ts";
import type { NoteIndex } from "../../note-index.ts";
import { chunkHash } from "../../text/chunk-markdown.ts";
import type { EmbeddingContext, EmbeddingModel } from "../model.ts";
import { type EmbedOptions, ping } from "../requests/requests.ts";
import { OverBudget } from "../requests/usage.ts";
import { type BatchOptions, fillByJobs } from "./fill-by-batch-jobs.ts";
import { fillByRequests, type RequestFill } from "./fill-by-requests.ts";
import { embeddingLabel, FillProgress, type FillStop } from "./pending.ts";

export interface FillOptions extends Omit<RequestFill, "progress" | "accept"> {
  /** Undefined: direct calls only. */
  batch: BatchOptions | undefined;
  progress: (update: SyncProgress) => void;
}

export interface FillOutcome extends FillStop {
  /** Without a vector and not quarantined, also those of a build in progress. */
  chunks: number;
}

/** Makes and stores the missing vectors of a space. Returns what is left. Throws abort and store errors. */
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

const textsForBatch = 100;
const pingMs = 10_000;
const measureMs = 8000;

export interface FillRequest extends Pick<EmbedOptions, "reason" | "asked" | "signal"> {
  /** Retry quarantined texts, and accept another length of vectors. */
  force: boolean;
  progress: (update: SyncProgress) => void;
}

/** Makes the missing vectors of a model's space. A new vector length gets its own space. */
export class ModelFill {
  readonly #model: EmbeddingModel;
  readonly #request: FillRequest & EmbedOptions;
  readonly #context: EmbeddingContext;
  readonly #hasEqualVectors: () => Promise<boolean>;

  constructor(
    model: EmbeddingModel,
    request: FillRequest & Pick<EmbedOptions, "budget">,
    context: EmbeddingContext,
    hasEqualVectors: () => Promise<boolean>,
  ) {
    this.#model = model;
    this.#request = { ...request, onRetry: (words) => this.#report(words) };
    this.#context = context;
    this.#hasEqualVectors = hasEqualVectors;
  }

  async run(): Promise<FillOutcome | undefined> {
    const model = this.#model;
    try {
      const outcome = await this.#fillMissing();
      model.isDown = outcome?.error?.kind === "transient";
      return outcome;
    } catch (error) {
      if (!ProviderError.is(error) && !(error instanceof OverBudget)) throw error;
      model.isDown = ProviderError.is(error, "transient");
      const chunks = (await model.count())?.pending ?? (await this.#context.store.stats()).chunks;
      return { chunks, ...sentenceOf(error), error: ProviderError.is(error) ? error : undefined };
    } finally {
      await model.count().catch(() => undefined);
    }
  }

  async #fillMissing(): Promise<FillOutcome | undefined> {
    const model = this.#model;
    const { store } = this.#context;
    const { asked, force } = this.#request;
    const before = await model.knownSpace();
    const isAgain = force && (await this.#hasEqualVectors());
    const space = (await this.#spaceToFill()) ?? (isAgain ? before : undefined);
    if (!space) return undefined;
    if (model.isDown && !asked) await this.#ping();
    await model.prepare({ ...this.#request, retry: true });
    this.#notifyChange(before, space);
    const outcome = await this.#fill(space, isAgain);
    if (outcome === undefined) await store.note(servedBy(space), model.fingerprint);
    if (outcome?.length === undefined || model.provider.dimensions !== undefined) return outcome;
    // A single answer may be wrong.
    const measured = await model.measureSpace(this.#request);
    if (measured.dimensions === space.dimensions) return outcome;
    this.#notifyChange(space, measured);
    return await this.#fill(measured, isAgain);
  }

  async #fill(space: VectorSpace, isAgain: boolean): Promise<FillOutcome | undefined> {
    const { provider, requests } = this.#model;
    const { store, settings } = this.#context;
    const { batch, nonBatchConcurrency } = settings.remote;
    const batches = batch.enabled ? provider.batches : undefined;
    return await fillSpace({
      ...this.#request,
      store: isAgain ? await withEveryText(store) : store,
      space,
      requests,
      concurrency: provider.maxConcurrency ?? nonBatchConcurrency,
      batch: batches && { ...this.#context, batches, settings: batch, minTexts: textsForBatch },
    });
  }

  /** The space, if anything is missing in it. */
  async #spaceToFill(): Promise<VectorSpace | undefined> {
    const model = this.#model;
    const { store } = this.#context;
    const { force, asked, signal } = this.#request;
    const { chunks, generation } = await store.stats();
    if (chunks + (generation?.next?.chunks ?? 0) === 0) return undefined;
    const isStated = model.provider.dimensions !== undefined;
    const known = force && !isStated ? undefined : await model.knownSpace();
    if (!known) this.#report();
    const space = known ?? (await this.#measure());
    if (force) await store.releaseQuarantine(space);
    if ((await countMissing(store, space)) > 0) return space;
    if (!asked || isStated || !known || (await store.noted(servedBy(space))) === model.fingerprint) return undefined;
    // Another address may make other vectors under the same name, or not answer.
    const own = AbortSignal.any([signal, AbortSignal.timeout(measureMs)]);
    const measured = await model.measureSpace({ ...this.#request, signal: own }).catch(() => signal.throwIfAborted());
    if (measured?.dimensions === space.dimensions) await store.note(servedBy(space), model.fingerprint);
    return measured && (await countMissing(store, measured)) > 0 ? measured : undefined;
  }

  async #measure(): Promise<VectorSpace> {
    const model = this.#model;
    await model.prepare({ ...this.#request, retry: true });
    if (model.isDown && !this.#request.asked && model.provider.dimensions === undefined) await this.#ping();
    return await model.measureSpace(this.#request);
  }

  async #ping(): Promise<void> {
    const { provider, requests } = this.#model;
    try {
      await ping(requests, pingMs, this.#request);
    } catch (error) {
      this.#request.signal.throwIfAborted();
      if (error instanceof OverBudget) throw error;
      throw embeddingErrorOf(error, provider.id);
    }
  }

  #report(words?: string): void {
    this.#request.progress({ completed: 0, total: 0, label: embeddingLabel(this.#model.provider.id, words) });
  }

  #notifyChange(before: VectorSpace | undefined, { provider, model, dimensions }: VectorSpace): void {
    if (before === undefined || before.dimensions === dimensions) return;
    this.#context.notify(
      `${provider} makes vectors of ${dimensions} numbers for ${model} where the stored ones have ${before.dimensions}: all chunks are embedded again, and the earlier vectors are kept`,
    );
  }
}

/** Reports texts with a vector as pending, too. */
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

function servedBy(space: VectorSpace): string {
  return `space:shown-by:${spaceName(space)}`;
}
