import { ProviderError, type EmbeddingProvider, type Sentence, type SyncProgress } from "@memslot/core";
import { sentenceOf } from "@memslot/core/host";
import type { VectorSpace } from "../../chunk-store.ts";
import type { NoteIndex } from "../../note-index.ts";
import { otherModel } from "../query.ts";
import { countFitting, type PackedText, packText, type ProviderLimits, type RequestLimits } from "../requests/pack.ts";

export interface FillStop extends Sentence {
  /** Set if the provider is the cause. */
  error?: ProviderError | undefined;
  /** Set if its vectors have another length than those of the space. */
  length?: number | undefined;
}

export function stopOf(error: ProviderError): FillStop {
  return { ...sentenceOf(error), error };
}

/** Set if a vector has another length than the space: then none is stored. */
export function otherLength(
  vectors: readonly ArrayLike<number>[],
  space: VectorSpace,
  provider: EmbeddingProvider,
): FillStop | undefined {
  const other = vectors.find((vector) => vector.length !== space.dimensions);
  if (!other) return undefined;
  const words = `the provider ${provider.id} gave vectors of ${other.length} numbers where ${space.dimensions} were expected: ${otherModel}`;
  return { ...stopOf(new ProviderError("auth", words)), length: other.length };
}

interface PendingTexts {
  store: Pick<NoteIndex, "pendingVectors">;
  space: VectorSpace;
  provider: ProviderLimits;
  pageSize: number;
  accept?: ((hash: string) => boolean) | undefined;
}

/** The texts without a vector in a space, each once, read from the store page by page. */
export class PendingQueue {
  readonly #from: PendingTexts;
  readonly #waiting: PackedText[] = [];
  /** Read, and still without a vector as far as the store knows. */
  readonly #open = new Set<string>();
  readonly #settled = new Set<string>();
  #isExhausted = false;
  #reading: Promise<void> | undefined;

  constructor(from: PendingTexts) {
    this.#from = from;
  }

  /** Texts for one request; none if nothing is left. May be called concurrently. */
  async take(limits: RequestLimits): Promise<PackedText[]> {
    for (;;) {
      const count = countFitting(this.#waiting, limits);
      if (count < this.#waiting.length || this.#isExhausted) return this.#waiting.splice(0, count);
      this.#reading ??= this.#readPage().finally(() => (this.#reading = undefined));
      await this.#reading;
    }
  }

  /** Texts that are done: they are not returned again. */
  settle(hashes: Iterable<string>): void {
    for (const hash of hashes) {
      this.#open.delete(hash);
      this.#settled.add(hash);
    }
  }

  putBack(hashes: Iterable<string>): void {
    for (const hash of hashes) this.#open.delete(hash);
    this.#isExhausted = false;
  }

  async #readPage(): Promise<void> {
    const { store, space, provider, pageSize, accept } = this.#from;
    const before = this.#open.size;
    for (const chunk of await store.pendingVectors(space, this.#open.size + pageSize)) {
      if (this.#open.has(chunk.hash) || this.#settled.has(chunk.hash)) continue;
      this.#open.add(chunk.hash);
      if (accept?.(chunk.hash) ?? true) this.#waiting.push(packText(chunk, provider));
    }
    this.#isExhausted = this.#open.size === before;
  }
}

/** `embedding with openai (attempt 2 of 4, waits 0.5 s)` */
export function embeddingLabel(provider: string, waiting?: string): string {
  return `embedding with ${provider}${waiting === undefined ? "" : ` (${waiting})`}`;
}

/** Reports the progress of a fill, in texts; nothing if none is missing. */
export class FillProgress {
  readonly #total: number;
  readonly #provider: string;
  readonly #report: (update: SyncProgress) => void;
  #label: string;
  #done = 0;
  #elsewhere = 0;

  constructor(missing: number, provider: string, report: (update: SyncProgress) => void) {
    this.#total = missing;
    this.#provider = provider;
    this.#report = report;
    this.#label = embeddingLabel(provider);
    this.#update(0);
  }

  add(texts: number): void {
    this.#done += texts;
    this.#label = embeddingLabel(this.#provider);
    this.#update();
  }

  /** Texts that the provider has done and not returned yet. */
  elsewhere(texts: number): void {
    this.#elsewhere = texts;
    this.#update();
  }

  readonly waiting = (words: string): void => {
    this.#label = embeddingLabel(this.#provider, words);
    this.#update();
  };

  /** Chunks with the same text share a vector, so that the last ones are done at once. */
  finish(): void {
    this.#update(Math.max(this.#total, this.#done));
  }

  #update(completed: number = this.#done + this.#elsewhere): void {
    // New texts may have come in.
    const total = Math.max(this.#total, completed);
    if (this.#total > 0) this.#report({ completed, total, label: this.#label });
  }
}
