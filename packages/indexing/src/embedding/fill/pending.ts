import { EmbeddingError, type EmbeddingProvider, type SyncProgress } from "@memslot/core";
import type { NoteIndex } from "../../note-index.ts";
import type { VectorSpace } from "../../chunk-store.ts";
import { countFitting, type PackedText, packText, type ProviderLimits, type RequestLimits } from "../requests/pack.ts";

/** Why the making of vectors ended before all were there. */
export interface FillStop {
  /** For people, with what they can do about it. */
  reason: string;
  /** Set where the provider is the cause. */
  error?: EmbeddingError | undefined;
  /** Set where its vectors have another length than those of the space. */
  length?: number | undefined;
}

export function stopOf(error: EmbeddingError): FillStop {
  return { reason: error.message, error };
}

/** The reason to store none of these vectors, where one has another length than the space; undefined where all fit. */
export function otherLength(
  vectors: readonly ArrayLike<number>[],
  space: VectorSpace,
  provider: EmbeddingProvider,
): FillStop | undefined {
  const other = vectors.find((vector) => vector.length !== space.dimensions);
  if (!other) return undefined;
  const error = new EmbeddingError(
    "auth",
    `the provider ${provider.id} gave vectors of ${other.length} numbers where ${space.dimensions} were expected: it serves another model under the same name; name the model in memorySearch.model, or run \`memslot memory index --force\` to embed everything with it`,
  );
  return { ...stopOf(error), length: other.length };
}

interface PendingTexts {
  store: Pick<NoteIndex, "pendingVectors">;
  space: VectorSpace;
  provider: ProviderLimits;
  /** Texts to read at a time. */
  pageSize: number;
  /** Which of the texts are wanted; all where it is left out. */
  accept?: ((hash: string) => boolean) | undefined;
}

/** The texts that a space misses, read from the store as they are needed. Gives each once, however often it is named. */
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

  /** Texts for one request, at least one; none when nothing is left. May be called while others are waiting. */
  async take(limits: RequestLimits): Promise<PackedText[]> {
    for (;;) {
      const count = countFitting(this.#waiting, limits);
      if (count < this.#waiting.length || this.#isExhausted) return this.#waiting.splice(0, count);
      this.#reading ??= this.#readPage().finally(() => (this.#reading = undefined));
      await this.#reading;
    }
  }

  /** These have their vector, or never get one: they are not given again. */
  settle(hashes: Iterable<string>): void {
    for (const hash of hashes) {
      this.#open.delete(hash);
      this.#settled.add(hash);
    }
  }

  /** These are still without a vector and not on their way any more: they are given again, if the store names them. */
  giveAgain(hashes: Iterable<string>): void {
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

/** Reports how far the vectors of a space are: counts from here to the texts that are missing now. */
export class FillProgress {
  readonly #total: number;
  readonly #provider: string;
  readonly #report: (update: SyncProgress) => void;
  #label: string;
  #done = 0;
  #away = 0;

  /** Reports nothing where no text is missing. */
  constructor(missing: number, provider: string, report: (update: SyncProgress) => void) {
    this.#total = missing;
    this.#provider = provider;
    this.#report = report;
    this.#label = embeddingLabel(provider);
    this.#tell(0);
  }

  /** So many texts more are done. */
  add(texts: number): void {
    this.#done += texts;
    this.#label = embeddingLabel(this.#provider);
    this.#tell();
  }

  /** So many texts are done on the other side and not here yet. Called again and again, it shows that work goes on. */
  elsewhere(texts: number): void {
    this.#away = texts;
    this.#tell();
  }

  /** Shows what is waited for, in words, until more texts are done. */
  readonly waiting = (words: string): void => {
    this.#label = embeddingLabel(this.#provider, words);
    this.#tell();
  };

  /** All are done: chunks with the same text share a vector, so that the last ones are done at once. */
  finish(): void {
    this.#tell(Math.max(this.#total, this.#done));
  }

  #tell(completed: number = this.#done + this.#away): void {
    // Texts can come in while it runs, so that there are more than were counted.
    const total = Math.max(this.#total, completed);
    if (this.#total > 0) this.#report({ completed, total, label: this.#label });
  }
}
