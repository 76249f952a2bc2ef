import {
  type EmbeddingBatches,
  type EmbeddingCallOptions,
  type EmbeddingJobState,
  type EmbeddingProvider,
  embeddingErrorOf,
  traceCall,
  withDeadline,
} from "@memslot/core";
import type { JobResult } from "./collect-job.ts";

const shortCallMs = 60_000;
/** A file of many megabytes goes up or comes down. */
const longCallMs = 5 * shortCallMs;

/** The batch interface of a provider, in time and told. Calls throw an `EmbeddingError`, or the reason of an abort. */
export class BatchCalls {
  readonly #batches: EmbeddingBatches;
  readonly #provider: EmbeddingProvider;
  readonly #signal: AbortSignal;

  constructor(batches: EmbeddingBatches, provider: EmbeddingProvider, signal: AbortSignal) {
    this.#batches = batches;
    this.#provider = provider;
    this.#signal = signal;
  }

  submit(texts: readonly string[]): Promise<string> {
    return this.#ask("submit", longCallMs, (signal) => this.#batches.submit(texts, { signal }), texts.length);
  }

  state(job: string): Promise<EmbeddingJobState> {
    return this.#ask("state", shortCallMs, (signal) => this.#batches.state(job, { signal }));
  }

  collect(job: string, count: number, onUsage: EmbeddingCallOptions["onUsage"]): Promise<JobResult[]> {
    return this.#ask("collect", longCallMs, (signal) => this.#batches.collect(job, { count, signal, onUsage }));
  }

  /** Whether or not it can be: nobody waits for the job any more. */
  async cancel(job: string): Promise<void> {
    await this.#ask("cancel", shortCallMs, (signal) => this.#batches.cancel(job, { signal })).catch(() =>
      this.#signal.throwIfAborted(),
    );
  }

  /** Nothing hangs on it: a file that stays there is deleted by the other side in time. */
  async discard(job: string): Promise<void> {
    const discard = async (signal: AbortSignal): Promise<void> => this.#batches.discard?.(job, { signal });
    await this.#ask("discard", shortCallMs, discard).catch(() => undefined);
  }

  async #ask<T>(
    method: keyof EmbeddingBatches,
    deadlineMs: number,
    call: (signal: AbortSignal) => Promise<T>,
    texts?: number,
  ): Promise<T> {
    const { id, model } = this.#provider;
    try {
      return await traceCall(
        "provider",
        () => ({ operation: `batches.${method}`, provider: id, model, ...(texts !== undefined && { texts }) }),
        () => withDeadline({ what: `the batch interface of ${id}`, deadlineMs, signals: [this.#signal] }, call),
      );
    } catch (error) {
      this.#signal.throwIfAborted();
      throw embeddingErrorOf(error, id);
    }
  }
}
