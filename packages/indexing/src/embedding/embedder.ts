import {
  type AvailabilityProbe,
  type EmbeddingChoice,
  EmbeddingError,
  type EmbeddingProvider,
  type EmbeddingStatus,
  type MemoryFallback,
  type MemorySearchSettings,
  messageOf,
  type SyncReport,
} from "@memslot/core";
import type { NoteIndex } from "../note-index.ts";
import type { QuarantinedChunk } from "../index-records.ts";
import type { VectorSpace } from "../chunk-store.ts";
import { fillLane, type FillRequest } from "./fill/fill.ts";
import type { MeaningScale } from "../fusion/fuse.ts";
import { areSame, SpaceScales } from "../fusion/space-scales.ts";
import { type EmbeddedQuery, QuestionLanes } from "./question-lanes.ts";
import { listBatchJobs } from "./jobs/job-table.ts";
import { isForGood, Lane, type LaneContext, refusalOf } from "./lane.ts";
import { countFitting, packText, requestLimits } from "./requests/pack.ts";
import { type EmbedOptions, plainText } from "./requests/requests.ts";
import { type Budget, createBudget, OverBudget, Usage } from "./requests/usage.ts";

const probeMs = 30_000;
/** No model takes them for the same. */
const differentTexts = [plainText, "A train leaves for the coast at noon."];
const shownQuarantined = 100;
const notKept =
  "the index is kept in memory and ends with this process, so that vectors are made only when they are asked for";

interface EmbedderFacts {
  status: EmbeddingStatus;
  /** Chunks with a vector of the first provider. */
  embedded: number;
  /** Chunks without one that are not quarantined; undefined until they were counted. */
  missing: number | undefined;
  dimensions: number | undefined;
  fallback: MemoryFallback | undefined;
  /** Fills by batch jobs that failed, one after the other. */
  batchFailures: { count: number; message: string; provider: string } | undefined;
}

interface EmbedderInput {
  store: NoteIndex;
  provider: EmbeddingProvider;
  choice: EmbeddingChoice;
  settings: MemorySearchSettings;
  agentId: string;
  stateDir: string;
  notify: (line: string) => void;
}

/** The vector half of an index: with which provider texts become vectors, and which vectors a query meets. */
export class Embedder {
  readonly #input: EmbedderInput;
  readonly #primary: Lane;
  readonly #questions: QuestionLanes;
  readonly #usage: Usage;
  readonly #budget: Budget | undefined;
  readonly #scales: SpaceScales;
  readonly #closing = new AbortController();
  #answered: AvailabilityProbe | undefined;
  #pending: SyncReport["pendingVectors"];
  #batchFailures: EmbedderFacts["batchFailures"];
  #quarantined: QuarantinedChunk[] = [];
  #dimensions: number | undefined;
  #isCounted = false;
  /** Says that every chunk has the same vector, and what to do. */
  #sameVectors: string | undefined;
  #meaning: EmbeddingStatus["meaning"];
  #noted: Pick<EmbeddingStatus, "circuit" | "budget" | "jobs"> = {};

  constructor(input: EmbedderInput) {
    const { store, provider, choice, settings, agentId, stateDir } = input;
    const { embeddingBatchTimeoutSeconds: seconds } = settings.sync;
    const { tokensPerDay } = settings.budget;
    const usage = new Usage({ stateDir, agentId });
    const requestMs = seconds === undefined ? undefined : seconds * 1000;
    const context: LaneContext = { store, stateDir, usage, requestMs, closing: this.#closing.signal };
    const primary = new Lane(provider, context);
    this.#input = input;
    this.#primary = primary;
    this.#questions = new QuestionLanes(primary, choice, context, () => this.#pending?.reason);
    this.#usage = usage;
    this.#scales = new SpaceScales(store);
    this.#budget = tokensPerDay === undefined ? undefined : createBudget(usage, tokensPerDay);
    this.#dimensions = provider.dimensions;
  }

  /** The first provider with the space that its vectors are in, where that is known. */
  get primary(): Pick<Lane, "provider" | "knownSpace"> {
    return this.#primary;
  }

  /** A request is likely to come: what it needs is loaded while other work goes on. */
  warm(): void {
    this.#primary.warm();
  }

  /** Throws where keywords have to answer alone: an `EmbeddingError` with the reason, or the error of an abort. */
  async embedQuery(query: string, signal: AbortSignal): Promise<EmbeddedQuery> {
    try {
      if (await this.#isSame()) throw new EmbeddingError("transient", this.#sameVectors ?? "");
      const embedded = await this.#questions.embed(query, signal);
      this.#answered = { ok: true };
      return embedded;
    } catch (error) {
      if (EmbeddingError.is(error)) this.#answered = { ok: false, error: error.message };
      throw error;
    } finally {
      this.#note();
    }
  }

  /** How the cosines of a question are to be read; undefined where its space has no vectors that can be read. */
  async scaleOf(space: VectorSpace, query: Float32Array): Promise<MeaningScale | undefined> {
    return await this.#scales.scaleOf(space, query, this.#primary.stats()?.embedded ?? 0);
  }

  /** Makes the vectors that are missing. Gives what is left, and why. Throws when the store fails. */
  async embedMissing(given: FillRequest): Promise<SyncReport["pendingVectors"]> {
    const { store, provider, settings } = this.#input;
    const request = { ...given, signal: AbortSignal.any([given.signal, this.#closing.signal]) };
    if (store.health().isTemporary === true && !request.asked) return (this.#pending = await this.#leaveUndone());
    const space = await this.#primary.knownSpace();
    if (space !== undefined) await store.giveVectors?.(space);
    if (!settings.cache.enabled && this.#primary.stats()?.pending !== 0) await this.#questions.protectEarlier();
    const outcome = await this.#fillAny(request);
    this.#pending = outcome && { chunks: outcome.chunks, reason: outcome.reason, failure: outcome.error?.kind };
    if (settings.remote.batch.enabled)
      this.#batchFailures = outcome?.error && {
        count: 1 + (this.#batchFailures?.count ?? 0),
        message: outcome.reason,
        provider: provider.id,
      };
    await this.count();
    if (outcome === undefined) await this.#measureMeaning(request);
    const { embedded: chunks = 0 } = this.#primary.stats() ?? {};
    if (outcome === undefined && (await this.#isSame()))
      return (this.#pending = { chunks, reason: this.#sameVectors ?? "", failure: "auth" });
    return this.#pending;
  }

  /** Whether every chunk has the same vector, which is then kept in words. */
  async #isSame(): Promise<boolean> {
    const space = await this.#primary.knownSpace();
    const embedded = this.#primary.stats()?.embedded ?? 0;
    const isSame = space !== undefined && embedded > 1 && (await this.#scales.isSame(space, embedded));
    this.#sameVectors = isSame ? sameVectors(this.#primary) : undefined;
    return isSame;
  }

  /** Counts what is missing; to be called after files were indexed. */
  async count(): Promise<void> {
    await this.#primary.count();
    await this.#questions.spare?.count();
    this.#isCounted = true;
    const space = await this.#primary.knownSpace();
    this.#dimensions = space?.dimensions;
    const kept = space && (await this.#scales.measured(space));
    const isSame = kept?.isSame === true;
    this.#meaning = kept && !isSame ? { weight: kept.weight, quality: kept.quality, pairs: kept.pairs } : undefined;
    this.#sameVectors = isSame ? sameVectors(this.#primary) : undefined;
    this.#quarantined = space ? await this.#input.store.quarantined(space, shownQuarantined) : [];
    this.#note();
  }

  /** Has texts tried again that were refused, when vectors are made next. Gives how many there were. */
  async releaseQuarantine(): Promise<{ chunks: number }> {
    const { store } = this.#input;
    const space = await this.#primary.knownSpace();
    if (space === undefined) return { chunks: 0 };
    const refused = await store.quarantined(space, Number.MAX_SAFE_INTEGER);
    if (refused.length > 0) await store.releaseQuarantine(space);
    await this.count();
    return { chunks: refused.length };
  }

  /**
   * Why a build that is being made must not take over yet: it would know less of its chunks by meaning than the one that
   * answers. Undefined where nothing speaks against it.
   */
  async obstacle(): Promise<string | undefined> {
    const stats = await this.#primary.count();
    const missing = stats?.nextPending ?? 0;
    const chunks = (await this.#input.store.stats()).generation?.next?.chunks ?? 0;
    if (!stats || missing === 0 || chunks === 0) return undefined;
    if (1 - missing / chunks >= stats.embedded / Math.max(1, stats.embedded + stats.pending)) return undefined;
    const why = this.#pending === undefined ? "" : `: ${this.#pending.reason}`;
    return `${missing} of its chunks have no vector yet${why}`;
  }

  /** True when `embedMissing` has something to do. What was never counted is unknown, not behind. */
  isBehind(): boolean {
    if (!this.#isCounted) return false;
    const isRefused = this.#input.choice.spare && refusalOf(this.#primary);
    const lanes = isRefused ? [this.#primary, this.#questions.spare] : [this.#primary];
    return lanes.some((lane) => lane?.stats()?.pending !== 0 || (lane.stats()?.nextPending ?? 0) > 0);
  }

  /** One real request, whatever failed before. */
  async probe(signal: AbortSignal): Promise<AvailabilityProbe> {
    const primary = this.#primary;
    const started = performance.now();
    const tookMs = (): number => Math.round(performance.now() - started);
    const patience = AbortSignal.timeout(probeMs);
    const own = AbortSignal.any([signal, patience]);
    try {
      await primary.prepare({ signal: own, retry: true });
      const vectors = await primary.requests.embed(differentTexts, { signal: own, reason: "probe", asked: true });
      const [vector] = vectors;
      if (vector) primary.shown(vector.length);
      await this.count();
      const dimensions = vector?.length;
      const found = areSame(vectors) ? { ok: false, error: sameVectors(primary) } : { ok: true, dimensions };
      return (this.#answered = { ...found, latencyMs: tookMs() });
    } catch (error) {
      signal.throwIfAborted();
      const silence = `${primary.provider.id} gave no answer within ${probeMs / 1000} s`;
      return (this.#answered = {
        ok: false,
        error: patience.aborted ? silence : messageOf(error),
        latencyMs: tookMs(),
      });
    } finally {
      this.#note();
    }
  }

  facts(): EmbedderFacts {
    const { provider, choice } = this.#input;
    const { answeredBy, fallback } = this.#questions;
    const stats = this.#primary.stats();
    const missing = stats?.pending ?? 0;
    const reason = this.#pending?.reason ?? "they are being made";
    return {
      embedded: stats?.embedded ?? 0,
      missing: stats?.pending,
      dimensions: this.#dimensions,
      fallback: fallback ?? choice.fallback,
      batchFailures: this.#batchFailures,
      status: {
        reason: choice.reason,
        passedOver: choice.passedOver,
        host: provider.endpoint?.host,
        keySource: provider.endpoint?.keySource,
        activity: this.#primary.activity(),
        answeredBy:
          answeredBy === provider || !answeredBy ? undefined : { provider: answeredBy.id, model: answeredBy.model },
        quarantined: this.#quarantined.map(({ path, startLine, endLine, reason: why }) => {
          return { path, startLine, endLine, reason: why };
        }),
        ...this.#noted,
        answered: this.#answered,
        meaning: this.#meaning,
        sameVectors: this.#sameVectors,
        pending: missing > 0 ? { chunks: missing, reason } : undefined,
      },
    };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled([this.#primary.close(), this.#questions.close()]);
  }

  /** Writes down what a status shows and other processes may have changed: a status itself reads no file. */
  #note(): void {
    const { settings, stateDir, agentId } = this.#input;
    const { tokensPerDay } = settings.budget;
    this.#noted = {
      circuit: this.#primary.requests.circuit.state(),
      budget: tokensPerDay === undefined ? undefined : { tokensPerDay, usedToday: this.#usage.tokensToday() },
      jobs: settings.remote.batch.enabled ? listBatchJobs({ stateDir, agentId }) : undefined,
    };
  }

  /** Fills the space of the provider, or that of its spare where the provider refuses for good. */
  async #fillAny(request: FillRequest): ReturnType<typeof fillLane> {
    const primary = this.#primary;
    const wasRefused = refusalOf(primary) !== undefined;
    const outcome = await this.#fill(primary, request);
    // With nothing missing nobody would find out that the provider is back.
    if (!outcome && request.asked && wasRefused && refusalOf(primary))
      await primary.requests
        .embed([plainText], { ...request, budget: this.#budgetOf(primary) })
        .catch(() => request.signal.throwIfAborted());
    const cause = outcome?.error ?? refusalOf(primary);
    if (!isForGood(cause)) {
      this.#questions.endFallback();
      return outcome;
    }
    let spare: Lane | undefined;
    try {
      spare = await this.#questions.openSpare(cause);
    } catch (error) {
      if (!EmbeddingError.is(error)) throw error;
      return { chunks: outcome?.chunks ?? 0, reason: error.message, error };
    }
    return spare ? await this.#fill(spare, { ...request, force: false }) : outcome;
  }

  #fill(lane: Lane, request: FillRequest): ReturnType<typeof fillLane> {
    const { store, settings, stateDir, agentId, notify } = this.#input;
    const { remote } = settings;
    const isSame = (): Promise<boolean> => this.#isSame();
    return fillLane(lane, request, { store, remote, stateDir, agentId, budget: this.#budgetOf(lane), notify, isSame });
  }

  /** Finds out what the space of the provider is worth, at the price of 64 short texts. What fails is tried the next time. */
  async #measureMeaning(request: FillRequest): Promise<void> {
    const primary = this.#primary;
    const space = await primary.knownSpace();
    const { embedded = 0, pending = 0 } = primary.stats() ?? {};
    if (space === undefined || pending > 0 || embedded === 0) return;
    const how = { ...request, reason: "measure", budget: this.#budgetOf(primary) };
    try {
      await this.#scales.measure(space, embedded, (texts) => embedInParts(primary, texts, how));
      await this.count();
    } catch (error) {
      request.signal.throwIfAborted();
      if (!EmbeddingError.is(error) && !(error instanceof OverBudget)) throw error;
    }
  }

  #budgetOf({ provider: { price } }: Lane): Budget | undefined {
    return price?.usdPerMillionTokens === 0 ? undefined : this.#budget;
  }

  /** What is left undone where nobody has asked for vectors that end with this process. */
  async #leaveUndone(): Promise<SyncReport["pendingVectors"]> {
    await this.count();
    const chunks = this.#primary.stats()?.pending ?? (await this.#input.store.stats()).chunks;
    return chunks === 0 ? undefined : { chunks, reason: notKept };
  }
}

function sameVectors({ provider: { id, model } }: Lane): string {
  return `${id}/${model} gives every text the same vector, so that meaning tells no note from another: repair the server or choose another memorySearch.model, then run \`memslot memory index --force\``;
}

/** In requests as large as the provider takes them. */
async function embedInParts(
  { provider, requests }: Pick<Lane, "provider" | "requests">,
  texts: readonly string[],
  how: EmbedOptions,
): Promise<Float32Array[]> {
  const packed = texts.map((text, index) => packText({ hash: String(index), context: "", text }, provider));
  const limits = requestLimits(provider);
  const vectors: Float32Array[] = [];
  while (vectors.length < packed.length) {
    const count = countFitting(packed, limits, vectors.length);
    const part = packed.slice(vectors.length, vectors.length + count).map(({ text }) => text);
    vectors.push(...(await requests.embed(part, how)));
  }
  return vectors;
}
