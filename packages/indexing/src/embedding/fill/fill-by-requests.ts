import { EmbeddingError, type EmbeddingProvider } from "@memslot/core";
import type { NoteIndex } from "../../note-index.ts";
import type { VectorSpace } from "../../chunk-store.ts";
import { type FillProgress, type FillStop, otherLength, PendingQueue, stopOf } from "./pending.ts";
import { type PackedText, type RequestLimits, requestLimits, shortenText, tokensOf } from "../requests/pack.ts";
import {
  type EmbedOptions,
  isNetworkFault,
  isTimeLimit,
  knock,
  plainText,
  type Requests,
} from "../requests/requests.ts";
import { OverBudget } from "../requests/usage.ts";
import { BadVectors } from "../unit-vector.ts";

export interface RequestFill extends Omit<EmbedOptions, "onRetry" | "attempts"> {
  store: Pick<NoteIndex, "pendingVectors" | "putVectors" | "quarantine" | "spaceStats">;
  space: VectorSpace;
  requests: Requests;
  /** Requests at one time. */
  concurrency: number;
  progress: FillProgress;
  /** Which of the pending texts are wanted; all where it is left out. */
  accept?: ((hash: string) => boolean) | undefined;
}

const pageSize = 512;
/** So many texts refused one by one and none taken: the texts are not to blame. */
const mostRefused = 8;
/** No provider has a reason to take long for a plain word. */
const plainMs = 15_000;

/**
 * Makes missing vectors with direct calls, several at one time, and stores each answer as it comes. A request that is
 * refused is sent again in halves, down to the text that is to blame, which is quarantined. So is one that the server
 * fails at, if it answers a plain word. Returns why it ended before all were made.
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
    this.#queue = new PendingQueue({ store, space, provider: requests.provider, pageSize, accept });
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
  async #send(texts: readonly PackedText[], attempts?: number): Promise<Float32Array[] | undefined> {
    const { requests, space, budget, progress } = this.#fill;
    const tokens = tokensOf(texts);
    if (budget && tokens > this.#tokensFree()) this.#stop ??= { reason: budget.reason() };
    if (this.#isOver()) return undefined;
    this.#tokensAway += tokens;
    try {
      const vectors = await requests.embed(
        texts.map(({ text }) => text),
        { ...this.#fill, attempts, onRetry: progress.waiting },
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

  /**
   * Makes and stores vectors of texts, in as many requests as it takes. True when it took one. `part`: of texts that failed
   * together; `again`: each of them got an unusable vector before.
   */
  async #embed(texts: readonly PackedText[], known?: "part" | "again"): Promise<boolean> {
    if (texts.length > this.#limits.items) return await this.#embedHalves(texts, known);
    let vectors: Float32Array[] | undefined;
    try {
      vectors = await this.#send(texts, known && (texts.length > 1 ? 1 : 2));
    } catch (error) {
      this.#fill.signal.throwIfAborted();
      if (!EmbeddingError.is(error)) throw error;
      return await this.#findGuilty(texts, error, known);
    }
    if (!vectors) return false;
    await this.#keep(texts, vectors);
    return true;
  }

  async #keep(texts: readonly PackedText[], vectors: readonly Float32Array[]): Promise<void> {
    const { store, space } = this.#fill;
    await store.putVectors(
      space,
      texts.map(({ hash }, index) => ({ hash, vector: vectors[index] as Float32Array })),
    );
    this.#settle(texts);
    this.#hasSucceeded = true;
    if (this.#refused.length > 0) await this.#quarantineRefused();
  }

  /**
   * After a request that failed: keeps the usable vectors, and goes on with the texts that may be to blame, down to each
   * of them. A provider that fails with a plain word, a connection, a limit or a key stops the fill.
   */
  async #findGuilty(texts: readonly PackedText[], error: EmbeddingError, known?: "part" | "again"): Promise<boolean> {
    const { kind } = error;
    const [only] = texts;
    if (error instanceof BadVectors && kind === "input") {
      const { vectors } = error;
      await this.#keep(
        texts.filter((_, index) => vectors[index] !== undefined),
        vectors.filter((vector) => vector !== undefined),
      );
      const bad = texts.filter((_, index) => vectors[index] === undefined);
      return await this.#embed(bad, "again");
    }
    if (kind === "input" && only && texts.length === 1) return await this.#refuse(only, error);
    if (kind !== "input") {
      const isFault = kind === "transient" && !isNetworkFault(error);
      // Parts of texts that failed together are not worth a word, but each text before it is set aside.
      const isProven = known === "part" && texts.length > 1;
      if (!isFault || (!isProven && !(await this.#answersAtAll(error)))) this.#stop ??= stopOf(error);
      if (this.#isOver()) return false;
      // None of its size is sent again: each would take as long.
      if (isTimeLimit(error))
        this.#limits.items = Math.min(this.#limits.items, Math.max(1, Math.ceil(texts.length / 2)));
      if (texts.length === 1 || (known === "again" && error instanceof BadVectors)) {
        for (const text of texts) await this.#refuse(text, error);
        return false;
      }
    }
    return await this.#embedHalves(texts, "part");
  }

  /** After a failure: whether the provider answers anything, so that the texts may be to blame. */
  async #answersAtAll(failure: EmbeddingError): Promise<boolean> {
    if (this.#isOver()) return false;
    const { requests, signal, progress } = this.#fill;
    progress.waiting(`${failure.message}; it is asked with a single word, for ${plainMs / 1000} s at most`);
    try {
      await knock(requests, plainMs, { ...this.#fill, attempts: 2, onRetry: undefined });
      return true;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }

  /** Where the whole does not pass and both halves do, it was too large. */
  async #embedHalves(texts: readonly PackedText[], known?: "part" | "again"): Promise<false> {
    const middle = Math.ceil(texts.length / 2);
    const halves = [texts.slice(0, middle), texts.slice(middle)];
    let passed = 0;
    for (const half of halves) if (await this.#embed(half, known)) passed++;
    if (passed === halves.length) {
      this.#limits.items = Math.min(this.#limits.items, middle);
      this.#limits.tokens = Math.min(this.#limits.tokens, Math.max(...halves.map(tokensOf)));
    }
    return false;
  }

  async #refuse(packed: PackedText, error: EmbeddingError): Promise<boolean> {
    const shorter = shortenText(packed, this.#provider);
    if (shorter) return await this.#embed([shorter], "part");
    this.#refused.push({ hash: packed.hash, reason: error.message });
    if (this.#hasSucceeded) await this.#quarantineRefused();
    else if (this.#refused.length >= mostRefused)
      this.#stop ??= error.kind === "input" ? wrongSetting(this.#provider, error.message) : stopOf(error);
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
