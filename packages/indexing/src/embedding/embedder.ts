import {
  type AvailabilityProbe,
  type EmbeddingChoice,
  ProviderError,
  type EmbeddingProvider,
  type EmbeddingStatus,
  type MemoryFallback,
  messageOf,
  type Sentence,
  type SyncReport,
} from "@memslot/core";
import { sentence, sentenceIn } from "@memslot/core/host";
import type { VectorSpace } from "../chunk-store.ts";
import type { MeaningScale } from "../fusion/score-fusion.ts";
import { areSame, SpaceScales } from "../fusion/vector-weight.ts";
import type { QuarantinedChunk } from "../index-row-types.ts";
import { listBatchJobs } from "./fill/fill-by-batch-jobs.ts";
import { type FillOutcome, type FillRequest, ModelFill } from "./fill/fill-missing-vectors.ts";
import { stopOf } from "./fill/pending.ts";
import { type EmbeddingContext, EmbeddingModel, isRefusal } from "./model.ts";
import { type EmbeddedQuery, QueryModels } from "./query.ts";
import { countFitting, packText, requestLimits } from "./requests/pack.ts";
import { type EmbedOptions, plainText } from "./requests/requests.ts";
import { SharedState } from "./requests/shared-state.ts";
import { OverBudget, Usage } from "./requests/usage.ts";

const probeMs = 30_000;
const differentTexts = [plainText, "A train leaves for the coast at noon."];
const shownQuarantined = 100;
const notKept = sentence("vectors.notKept");

interface EmbedderFacts {
  status: EmbeddingStatus;
  embedded: number;
  missing: number | undefined;
  dimensions: number | undefined;
  fallback: MemoryFallback | undefined;
  /** Fills by batch jobs that failed, one after the other. */
  batchFailures: { count: number; message: string; provider: string } | undefined;
}

interface EmbedderInput extends Omit<EmbeddingContext, "shared" | "usage" | "closing"> {
  provider: EmbeddingProvider;
  choice: EmbeddingChoice;
  stateDir: string;
}

/** The vector half of an index: embeds notes and queries, and chooses the vectors that a query is compared with. */
export class Embedder {
  readonly #input: EmbedderInput;
  readonly #context: EmbeddingContext;
  readonly primary: EmbeddingModel;
  readonly #queries: QueryModels;
  readonly #scales: SpaceScales;
  readonly #closing = new AbortController();
  #answered: AvailabilityProbe | undefined;
  #pending: SyncReport["pendingVectors"];
  #batchFailures: EmbedderFacts["batchFailures"];
  #quarantined: QuarantinedChunk[] = [];
  #dimensions: number | undefined;
  #isCounted = false;
  /** What to do if every chunk has the same vector. */
  #sameVectors: Sentence | undefined;
  #meaning: EmbeddingStatus["meaning"];
  #noted: Pick<EmbeddingStatus, "circuit" | "budget" | "jobs"> = {};

  constructor(input: EmbedderInput) {
    const { store, provider, choice, settings, agentId, stateDir } = input;
    const { tokensPerDay } = settings.budget;
    const shared = new SharedState(stateDir);
    const usage = new Usage(shared, agentId, tokensPerDay);
    this.#input = input;
    this.#context = { ...input, shared, usage, closing: this.#closing.signal };
    this.primary = new EmbeddingModel(provider, this.#context);
    this.#queries = new QueryModels(
      this.primary,
      choice,
      this.#context,
      () => this.#pending && sentenceIn(this.#pending),
    );
    this.#scales = new SpaceScales(store);
    this.#dimensions = provider.dimensions;
  }

  warm(): void {
    this.primary.warm();
  }

  /** Throws if keyword search has to answer alone: an `ProviderError` with the reason, or the error of an abort. */
  async embedQuery(query: string, signal: AbortSignal): Promise<EmbeddedQuery> {
    try {
      if ((await this.#isSame()) && this.#sameVectors) throw new ProviderError("transient", this.#sameVectors);
      const embedded = await this.#queries.embed(query, signal);
      this.#answered = { ok: true };
      return embedded;
    } catch (error) {
      if (ProviderError.is(error)) this.#answered = { ok: false, error: error.message };
      throw error;
    } finally {
      this.#note();
    }
  }

  /** Undefined if the space has no readable vectors. */
  async scaleOf(space: VectorSpace, query: Float32Array): Promise<MeaningScale | undefined> {
    return await this.#scales.scaleOf(space, query, this.primary.stats?.embedded ?? 0);
  }

  /** Makes the missing vectors. Returns what is left, and why. Throws when the store fails. */
  async embedMissing(given: FillRequest): Promise<SyncReport["pendingVectors"]> {
    const { store, provider, settings } = this.#input;
    const request = { ...given, signal: AbortSignal.any([given.signal, this.#closing.signal]) };
    if (store.health().isTemporary === true && !request.asked) {
      await this.count();
      const left = this.primary.stats?.pending ?? (await store.stats()).chunks;
      return (this.#pending = left === 0 ? undefined : { chunks: left, ...notKept });
    }
    const space = await this.primary.knownSpace();
    if (space !== undefined) await store.giveVectors?.(space);
    if (!settings.cache.enabled && this.primary.stats?.pending !== 0) await this.#queries.protectEarlier();
    const outcome = await this.#fillAny(request);
    this.#pending = outcome && { ...sentenceIn(outcome), chunks: outcome.chunks, failure: outcome.error?.kind };
    if (settings.remote.batch.enabled)
      this.#batchFailures = outcome?.error && {
        count: 1 + (this.#batchFailures?.count ?? 0),
        message: outcome.reason,
        provider: provider.id,
      };
    await this.count();
    if (outcome === undefined) await this.#measureMeaning(request);
    const { embedded: chunks = 0 } = this.primary.stats ?? {};
    if (outcome === undefined && (await this.#isSame()) && this.#sameVectors)
      return (this.#pending = { ...this.#sameVectors, chunks, failure: "auth" });
    return this.#pending;
  }

  async #isSame(): Promise<boolean> {
    const space = await this.primary.knownSpace();
    const embedded = this.primary.stats?.embedded ?? 0;
    const isSame = space !== undefined && embedded > 1 && (await this.#scales.isSame(space, embedded));
    this.#sameVectors = isSame ? sameVectors(this.primary) : undefined;
    return isSame;
  }

  async count(): Promise<void> {
    await this.primary.count();
    await this.#queries.standby?.count();
    this.#isCounted = true;
    const space = await this.primary.knownSpace();
    this.#dimensions = space?.dimensions;
    const kept = space && (await this.#scales.measured(space));
    const isSame = kept?.isSame === true;
    this.#meaning = kept && !isSame ? { weight: kept.weight, quality: kept.quality, pairs: kept.pairs } : undefined;
    this.#sameVectors = isSame ? sameVectors(this.primary) : undefined;
    this.#quarantined = space ? await this.#input.store.quarantined(space, shownQuarantined) : [];
    this.#note();
  }

  /** Lets the next fill retry refused texts. */
  async releaseQuarantine(): Promise<{ chunks: number }> {
    const { store } = this.#input;
    const space = await this.primary.knownSpace();
    if (space === undefined) return { chunks: 0 };
    const refused = await store.quarantined(space, Number.MAX_SAFE_INTEGER);
    if (refused.length > 0) await store.releaseQuarantine(space);
    await this.count();
    return { chunks: refused.length };
  }

  /** Why a build in progress must not replace the present one yet: a smaller share of its chunks has vectors. */
  async obstacle(): Promise<string | undefined> {
    const stats = await this.primary.count();
    const missing = stats?.nextPending ?? 0;
    const chunks = (await this.#input.store.stats()).generation?.next?.chunks ?? 0;
    if (!stats || missing === 0 || chunks === 0) return undefined;
    if (1 - missing / chunks >= stats.embedded / Math.max(1, stats.embedded + stats.pending)) return undefined;
    const why = this.#pending === undefined ? "" : `: ${this.#pending.reason}`;
    return `${missing} of its chunks have no vector yet${why}`;
  }

  /** True if `embedMissing` has something to do; false before the first count. */
  isBehind(): boolean {
    if (!this.#isCounted) return false;
    const isRefused = this.#input.choice.spare && this.primary.refusal();
    const models = isRefused ? [this.primary, this.#queries.standby] : [this.primary];
    return models.some((model) => model?.stats?.pending !== 0 || (model.stats.nextPending ?? 0) > 0);
  }

  async probe(signal: AbortSignal): Promise<AvailabilityProbe> {
    const primary = this.primary;
    const started = performance.now();
    const tookMs = (): number => Math.round(performance.now() - started);
    const patience = AbortSignal.timeout(probeMs);
    const own = AbortSignal.any([signal, patience]);
    try {
      await primary.prepare({ signal: own, retry: true });
      const vectors = await primary.requests.embed(differentTexts, { signal: own, reason: "probe", asked: true });
      const [vector] = vectors;
      if (vector) primary.observed(vector.length);
      await this.count();
      const found = areSame(vectors)
        ? { ok: false, error: sameVectors(primary).reason }
        : { ok: true, dimensions: vector?.length };
      return (this.#answered = { ...found, latencyMs: tookMs() });
    } catch (error) {
      signal.throwIfAborted();
      const silence = `${primary.provider.id} did not answer within ${probeMs / 1000} s`;
      const words = patience.aborted ? silence : messageOf(error);
      return (this.#answered = { ok: false, error: words, latencyMs: tookMs() });
    } finally {
      this.#note();
    }
  }

  facts(): EmbedderFacts {
    const { provider, choice } = this.#input;
    const { answeredBy, fallback } = this.#queries;
    const { stats, activity } = this.primary;
    const missing = stats?.pending ?? 0;
    const why = this.#pending ? sentenceIn(this.#pending) : sentence("vectors.made");
    return {
      embedded: stats?.embedded ?? 0,
      missing: stats?.pending,
      dimensions: this.#dimensions,
      fallback: fallback ?? choice.fallback,
      batchFailures: this.#batchFailures,
      status: {
        ...sentenceIn(choice),
        passedOver: choice.passedOver,
        host: provider.endpoint?.host,
        keySource: provider.endpoint?.keySource,
        activity,
        answeredBy:
          answeredBy === provider || !answeredBy ? undefined : { provider: answeredBy.id, model: answeredBy.model },
        quarantined: this.#quarantined.map(({ path, startLine, endLine, reason: why }) => {
          return { path, startLine, endLine, reason: why };
        }),
        ...this.#noted,
        answered: this.#answered,
        meaning: this.#meaning,
        sameVectors: this.#sameVectors?.reason,
        pending: missing > 0 ? { chunks: missing, ...why } : undefined,
      },
    };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled([this.primary.close(), this.#queries.close()]);
    this.#context.shared.close();
  }

  #note(): void {
    const { settings, agentId } = this.#input;
    const { shared, usage } = this.#context;
    const { tokensPerDay } = settings.budget;
    this.#noted = {
      circuit: this.primary.requests.circuit.state(),
      budget: tokensPerDay === undefined ? undefined : { tokensPerDay, usedToday: usage.tokensToday() },
      jobs: settings.remote.batch.enabled ? listBatchJobs(shared, agentId) : undefined,
    };
  }

  async #fillAny(request: FillRequest): Promise<FillOutcome | undefined> {
    const primary = this.primary;
    const wasRefused = primary.refusal() !== undefined;
    const outcome = await this.#fill(primary, request);
    // With nothing missing, no request would show that the provider works again.
    if (!outcome && request.asked && wasRefused && primary.refusal())
      await primary.requests
        .embed([plainText], { ...request, budget: this.#budgetOf(primary) })
        .catch(() => request.signal.throwIfAborted());
    const cause = outcome?.error ?? primary.refusal();
    if (!isRefusal(cause)) {
      this.#queries.fallback = undefined;
      return outcome;
    }
    let standby: EmbeddingModel | undefined;
    try {
      standby = await this.#queries.openStandby(cause);
    } catch (error) {
      if (!ProviderError.is(error)) throw error;
      return { chunks: outcome?.chunks ?? 0, ...stopOf(error) };
    }
    return standby ? await this.#fill(standby, { ...request, force: false }) : outcome;
  }

  async #fill(model: EmbeddingModel, request: FillRequest): Promise<FillOutcome | undefined> {
    const hasEqualVectors = (): Promise<boolean> => this.#isSame();
    return await new ModelFill(
      model,
      { ...request, budget: this.#budgetOf(model) },
      this.#context,
      hasEqualVectors,
    ).run();
  }

  /** Measures the semantic weight of the space. A failure leaves it to the next time. */
  async #measureMeaning(request: FillRequest): Promise<void> {
    const primary = this.primary;
    const space = await primary.knownSpace();
    const { embedded = 0, pending = 0 } = primary.stats ?? {};
    if (space === undefined || pending > 0 || embedded === 0) return;
    const options = { ...request, reason: "measure", budget: this.#budgetOf(primary) };
    try {
      await this.#scales.measure(space, embedded, (texts) => embedInParts(primary, texts, options));
      await this.count();
    } catch (error) {
      request.signal.throwIfAborted();
      if (!ProviderError.is(error) && !(error instanceof OverBudget)) throw error;
    }
  }

  /** Undefined without a limit, and for a provider without costs. */
  #budgetOf({ provider: { price } }: EmbeddingModel): Usage | undefined {
    const isFree = this.#input.settings.budget.tokensPerDay === undefined || price?.usdPerMillionTokens === 0;
    return isFree ? undefined : this.#context.usage;
  }
}

function sameVectors({ provider: { id, model } }: EmbeddingModel): Sentence {
  return sentence("provider.sameVectors", { model: `${id}/${model}` });
}

async function embedInParts(
  { provider, requests }: EmbeddingModel,
  texts: readonly string[],
  options: EmbedOptions,
): Promise<Float32Array[]> {
  const packed = texts.map((text, index) => packText({ hash: String(index), context: "", text }, provider));
  const limits = requestLimits(provider);
  const vectors: Float32Array[] = [];
  while (vectors.length < packed.length) {
    const count = countFitting(packed, limits, vectors.length);
    const part = packed.slice(vectors.length, vectors.length + count).map(({ text }) => text);
    vectors.push(...(await requests.embed(part, options)));
  }
  return vectors;
}
