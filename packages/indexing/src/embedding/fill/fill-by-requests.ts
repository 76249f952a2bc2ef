import { ProviderError, type EmbeddingProvider } from "@memslot/core";
import { sentence, sentenceOf } from "@memslot/core/host";
import type { VectorSpace } from "../../chunk-store.ts";
import type { NoteIndex } from "../../note-index.ts";
import { isNetworkFault, isTimeLimit } from "../requests/circuit-breaker.ts";
import { type PackedText, type RequestLimits, requestLimits, shortenText, tokensOf } from "../requests/pack.ts";
import { type EmbedOptions, ping, plainText, type Requests } from "../requests/requests.ts";
import { BadVectors } from "../requests/unit-vector.ts";
import { OverBudget } from "../requests/usage.ts";
import { type FillProgress, type FillStop, otherLength, PendingQueue, stopOf } from "./pending.ts";

export interface RequestFill extends Omit<EmbedOptions, "onRetry" | "attempts"> {
  store: Pick<NoteIndex, "pendingVectors" | "putVectors" | "quarantine" | "spaceStats">;
  space: VectorSpace;
  requests: Requests;
  concurrency: number;
  progress: FillProgress;
  accept?: ((hash: string) => boolean) | undefined;
}

const pageSize = 512;
/** After so many refused texts and none accepted, the texts are not to blame. */
const mostRefused = 8;
const pingMs = 15_000;

type Retry = "part" | "again";

/** Makes missing vectors; refused requests are halved down to the bad text, which is quarantined. */
export async function fillByRequests(fill: RequestFill): Promise<FillStop | undefined> {
  return await new RequestFilling(fill).run();
}

class RequestFilling {
  readonly #fill: RequestFill;
  readonly #provider: EmbeddingProvider;
  readonly #queue: PendingQueue;
  readonly #limits: RequestLimits;
  readonly #refused: { hash: string; reason: string }[] = [];
  #hasSucceeded = false;
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
    const { budget, signal } = this.#fill;
    try {
      while (!this.#isOver()) {
        const tokens = Math.min(this.#limits.tokens, budget?.left() ?? Number.POSITIVE_INFINITY);
        const texts = await this.#queue.take({ ...this.#limits, tokens });
        signal.throwIfAborted();
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

  async #send(texts: readonly PackedText[], attempts?: number): Promise<Float32Array[] | undefined> {
    const { requests, space, progress } = this.#fill;
    if (this.#isOver()) return undefined;
    try {
      const sent = texts.map(({ text }) => text);
      const vectors = await requests.embed(sent, { ...this.#fill, attempts, onRetry: progress.waiting });
      const other = otherLength(vectors, space, this.#provider);
      if (!other) return vectors;
      this.#stop ??= other;
      return undefined;
    } catch (error) {
      if (!(error instanceof OverBudget)) throw error;
      this.#stop ??= sentenceOf(error);
      return undefined;
    }
  }

  /** Sends as many requests as it takes. True if it took one. */
  async #embed(texts: readonly PackedText[], retry?: Retry): Promise<boolean> {
    if (texts.length > this.#limits.items) return await this.#embedHalves(texts, retry);
    let vectors: Float32Array[] | undefined;
    try {
      vectors = await this.#send(texts, retry && (texts.length > 1 ? 1 : 2));
    } catch (error) {
      this.#fill.signal.throwIfAborted();
      if (!ProviderError.is(error)) throw error;
      return await this.#findGuilty(texts, error, retry);
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

  /** Stores the usable vectors of a failed request, and narrows the rest down, or stops the fill. */
  async #findGuilty(texts: readonly PackedText[], error: ProviderError, retry?: Retry): Promise<boolean> {
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
      const isProven = retry === "part" && texts.length > 1;
      if (!isFault || (!isProven && !(await this.#answersPing(error)))) this.#stop ??= stopOf(error);
      if (this.#isOver()) return false;
      // Requests of the same size would take as long.
      if (isTimeLimit(error))
        this.#limits.items = Math.min(this.#limits.items, Math.max(1, Math.ceil(texts.length / 2)));
      if (texts.length === 1 || (retry === "again" && error instanceof BadVectors)) {
        for (const text of texts) await this.#refuse(text, error);
        return false;
      }
    }
    return await this.#embedHalves(texts, "part");
  }

  async #answersPing(failure: ProviderError): Promise<boolean> {
    if (this.#isOver()) return false;
    const { requests, signal, progress } = this.#fill;
    progress.waiting(`${failure.message}; sends a single word to test the provider, ${pingMs / 1000} s at most`);
    try {
      await ping(requests, pingMs, { ...this.#fill, attempts: 2, onRetry: undefined });
      return true;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }

  /** If both halves pass and the whole does not, it was too large. */
  async #embedHalves(texts: readonly PackedText[], retry?: Retry): Promise<false> {
    const middle = Math.ceil(texts.length / 2);
    const halves = [texts.slice(0, middle), texts.slice(middle)];
    let passed = 0;
    for (const half of halves) if (await this.#embed(half, retry)) passed++;
    if (passed === halves.length) {
      this.#limits.items = Math.min(this.#limits.items, middle);
      this.#limits.tokens = Math.min(this.#limits.tokens, Math.max(...halves.map(tokensOf)));
    }
    return false;
  }

  async #refuse(packed: PackedText, error: ProviderError): Promise<boolean> {
    const shorter = shortenText(packed, this.#provider);
    if (shorter) return await this.#embed([shorter], "part");
    this.#refused.push({ hash: packed.hash, reason: error.message });
    if (this.#hasSucceeded) await this.#quarantineRefused();
    else if (this.#refused.length >= mostRefused) this.#stop ??= this.#refusesAll(error, error.message);
    return false;
  }

  /** If no text was accepted, the few refused ones may all be bad, or none: a plain word decides. */
  async #judgeRefused(): Promise<void> {
    const [first] = this.#refused;
    if (!first) return;
    try {
      const vectors = await this.#send([{ hash: "", text: plainText, tokens: 2, bytes: plainText.length }]);
      if (vectors) await this.#quarantineRefused();
    } catch (error) {
      this.#fill.signal.throwIfAborted();
      if (!ProviderError.is(error)) throw error;
      this.#stop ??= this.#refusesAll(error, first.reason);
    }
  }

  #refusesAll(error: ProviderError, reason: string): FillStop {
    if (error.kind !== "input") return stopOf(error);
    const why = sentence("provider.refusesAll", { provider: this.#provider.id, reason });
    return stopOf(new ProviderError("auth", why));
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
