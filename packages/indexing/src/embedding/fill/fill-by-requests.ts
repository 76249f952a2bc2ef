import { EmbeddingError, type EmbeddingProvider, withDeadline } from "@memslot/core";
import type { ChunkIndex } from "../../chunk-index.ts";
import type { VectorSpace } from "../../chunk-store.ts";
import { type Budget, OverBudget } from "../requests/budget.ts";
import type { FillProgress } from "./fill-progress.ts";
import { type FillStop, otherLength, stopOf } from "./fill-stop.ts";
import { type PackedText, type RequestLimits, requestLimits, shortenText, tokensOf } from "../requests/pack.ts";
import { createPendingQueue, type PendingQueue } from "./pending-queue.ts";
import type { EmbeddingRequests } from "../requests/requests.ts";
import { isTimeLimit } from "../requests/retry.ts";

export interface RequestFill {
  store: Pick<ChunkIndex, "pendingVectors" | "putVectors" | "quarantine">;
  space: VectorSpace;
  requests: EmbeddingRequests;
  concurrency: number;
  budget: Budget | undefined;
  reason: string;
  asked: boolean;
  signal: AbortSignal;
  progress: FillProgress;
  /** Which of the pending texts are wanted; all where it is left out. */
  accept?: ((hash: string) => boolean) | undefined;
}

const pageSize = 512;
/** So many texts refused one by one and none taken: the texts are not to blame. */
const mostRefused = 8;
/** No provider has a reason to refuse it, nor to take long for it. */
const plainText = "memory";
const plainMs = 15_000;

/**
 * Makes missing vectors with direct calls, several at one time, and stores each answer as it comes. Where a request is
 * refused it is sent again in halves, down to the text that is to blame, which is quarantined. Gives why it ended before
 * all were made.
 */
export async function fillByRequests(fill: RequestFill): Promise<FillStop | undefined> {
  return await new RequestFilling(fill).run();
}

class RequestFilling {
  readonly #fill: RequestFill;
  readonly #provider: EmbeddingProvider;
  readonly #queue: PendingQueue;
  /** Gets smaller when requests turn out to be too large, and never grows again. */
  readonly #limits: RequestLimits;
  readonly #refused: { hash: string; reason: string }[] = [];
  /** Texts that a request may have to be answered in time, as far as is known. */
  #mostInTime = Number.POSITIVE_INFINITY;
  #hasSucceeded = false;
  /** Estimated tokens of the requests that are on their way. */
  #tokensAway = 0;
  #stop: FillStop | undefined;
  #failure: { error: unknown } | undefined;

  constructor(fill: RequestFill) {
    const { store, space, requests, accept } = fill;
    this.#fill = fill;
    this.#provider = requests.provider;
    this.#limits = requestLimits(requests.provider);
    this.#queue = createPendingQueue({ store, space, provider: requests.provider, pageSize, accept });
  }

  async run(): Promise<FillStop | undefined> {
    const { concurrency, signal } = this.#fill;
    await Promise.all(Array.from({ length: Math.max(1, concurrency) }, () => this.#work()));
    if (!this.#failure) await this.#judgeRefused();
    signal.throwIfAborted();
    if (this.#failure) throw this.#failure.error;
    return this.#stop;
  }

  async #work(): Promise<void> {
    try {
      while (!this.#isOver()) {
        // What is left of the budget is used to its end.
        const room = Math.min(this.#limits.tokens, this.#tokensFree());
        const texts = await this.#queue.take({ ...this.#limits, tokens: room });
        this.#fill.signal.throwIfAborted();
        if (texts.length === 0) return;
        await this.#embed(texts);
      }
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  #isOver(): boolean {
    return this.#stop !== undefined || this.#failure !== undefined;
  }

  #tokensFree(): number {
    const { budget } = this.#fill;
    return budget ? budget.left() - this.#tokensAway : Number.POSITIVE_INFINITY;
  }

  /** One request. Undefined where it was not made, or where its vectors cannot be used: then there is a stop. */
  async #send(texts: readonly PackedText[]): Promise<Float32Array[] | undefined> {
    const { requests, space, budget, signal, reason, asked, progress } = this.#fill;
    const tokens = tokensOf(texts);
    if (budget && tokens > this.#tokensFree()) this.#stop ??= budget.stop();
    if (this.#isOver()) return undefined;
    this.#tokensAway += tokens;
    try {
      const vectors = await requests.embed(
        texts.map(({ text }) => text),
        { signal, reason, asked, budget, onRetry: progress.waiting },
      );
      const other = otherLength(vectors, space, this.#provider);
      if (!other) return vectors;
      this.#stop ??= other;
      return undefined;
    } catch (error) {
      // Another process was faster.
      if (!(error instanceof OverBudget)) throw error;
      this.#stop ??= { reason: error.message };
      return undefined;
    } finally {
      this.#tokensAway -= tokens;
    }
  }

  /** Makes and stores vectors of texts, in as many requests as it takes. True when it took one. */
  async #embed(texts: readonly PackedText[]): Promise<boolean> {
    const { store, space, signal } = this.#fill;
    let vectors: Float32Array[] | undefined;
    if (texts.length > this.#mostInTime) return await this.#embedHalves(texts);
    try {
      vectors = await this.#send(texts);
    } catch (error) {
      signal.throwIfAborted();
      if (!EmbeddingError.is(error)) throw error;
      const isRefused = error.kind === "input";
      const [only] = texts;
      if (isRefused && only && texts.length === 1) return await this.#refuse(only, error);
      const isLarge = !isRefused && texts.length > 1 && isTimeLimit(error) && (await this.#answersAtAll(error));
      // None of its size is sent again: each would take as long.
      if (isLarge) {
        this.#mostInTime = Math.min(this.#mostInTime, Math.ceil(texts.length / 2));
        this.#limits.items = Math.min(this.#limits.items, this.#mostInTime);
      }
      if (isRefused || isLarge) return await this.#embedHalves(texts);
      this.#stop ??= stopOf(error);
    }
    if (!vectors) return false;
    await store.putVectors(
      space,
      texts.map(({ hash }, index) => ({ hash, vector: vectors[index] as Float32Array })),
    );
    this.#settle(texts);
    this.#hasSucceeded = true;
    if (this.#refused.length > 0) await this.#quarantineRefused();
    return true;
  }

  /** After a request that got no answer in time: whether it was too large, or the provider answers nothing. */
  async #answersAtAll(late: EmbeddingError): Promise<boolean> {
    if (this.#isOver()) return false;
    const { requests, budget, signal, reason, asked, progress } = this.#fill;
    progress.waiting(`${late.message}; it is asked with a single word, for ${plainMs / 1000} s at most`);
    try {
      const limits = { what: `the embedding provider ${this.#provider.id}`, deadlineMs: plainMs, signals: [signal] };
      await withDeadline(limits, (inner) => requests.embed([plainText], { signal: inner, reason, asked, budget }));
      return true;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }

  /** Where the whole does not pass and both halves do, it was too large. */
  async #embedHalves(texts: readonly PackedText[]): Promise<false> {
    const middle = Math.ceil(texts.length / 2);
    const halves = [texts.slice(0, middle), texts.slice(middle)];
    let passed = 0;
    for (const half of halves) if (await this.#embed(half)) passed++;
    if (passed === halves.length) {
      this.#limits.items = Math.min(this.#limits.items, middle);
      this.#limits.tokens = Math.min(this.#limits.tokens, Math.max(...halves.map(tokensOf)));
    }
    return false;
  }

  async #refuse(packed: PackedText, error: EmbeddingError): Promise<boolean> {
    const shorter = shortenText(packed, this.#provider);
    if (shorter) return await this.#embed([shorter]);
    this.#refused.push({ hash: packed.hash, reason: error.message });
    if (this.#hasSucceeded) await this.#quarantineRefused();
    else if (this.#refused.length >= mostRefused) this.#stop ??= wrongSetting(this.#provider, error.message);
    return false;
  }

  /** With no text taken yet, the few that there were may all be bad, or none: a text that must pass decides. */
  async #judgeRefused(): Promise<void> {
    const [first] = this.#refused;
    if (!first) return;
    try {
      const vectors = await this.#send([{ hash: "", text: plainText, tokens: 2, bytes: plainText.length }]);
      if (vectors) await this.#quarantineRefused();
    } catch (error) {
      this.#fill.signal.throwIfAborted();
      if (!EmbeddingError.is(error)) throw error;
      this.#stop ??= error.kind === "input" ? wrongSetting(this.#provider, first.reason) : stopOf(error);
    }
  }

  async #quarantineRefused(): Promise<void> {
    const entries = this.#refused.splice(0);
    await this.#fill.store.quarantine(this.#fill.space, entries);
    this.#settle(entries);
  }

  #settle(texts: readonly { hash: string }[]): void {
    this.#queue.settle(texts.map(({ hash }) => hash));
    this.#fill.progress.add(texts.length);
  }
}

function wrongSetting({ id }: EmbeddingProvider, reason: string): FillStop {
  const words = `${id} refuses every text, so that the texts are not to blame; check memorySearch.model and what is set beside it: ${reason}`;
  return stopOf(new EmbeddingError("auth", words));
}
