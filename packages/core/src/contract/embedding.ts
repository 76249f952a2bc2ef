import type { EmbeddingError } from "./provider-error.ts";
import type { MemoryFallback, SyncProgress } from "./status.ts";

export interface EmbeddingCallOptions {
  signal?: AbortSignal | undefined;
  /** Takes what the other side says that the call has cost. Not called where it does not say: then it is estimated. */
  onUsage?: ((usage: { tokens: number }) => void) | undefined;
}

/** Turns texts into vectors. The host packs, splits, retries and caches. Throws `EmbeddingError`. */
export interface EmbeddingProvider {
  readonly id: string;
  readonly model: string;
  /** Vector length, where it is known before the first call. */
  readonly dimensions?: number | undefined;
  /** Tokens that one text may have. */
  readonly maxInputTokens?: number | undefined;
  /** Texts that one request may hold. */
  readonly maxBatchItems?: number | undefined;
  /** Tokens that one request may hold in all. */
  readonly maxBatchTokens?: number | undefined;
  /** Requests at one time, where it can take fewer or more than `remote.nonBatchConcurrency` (4). */
  readonly maxConcurrency?: number | undefined;
  /** What besides id and model decides the vectors (task type, prefix). Part of the key of stored vectors. */
  readonly cacheKey?: string | undefined;
  /** The model runs on a machine of one's own, which may be slow: calls have longer deadlines. */
  readonly isLocal?: boolean | undefined;
  readonly endpoint?: EmbeddingEndpoint | undefined;
  /** Absent if the price is not known. At 0 no budget is kept. */
  readonly price?: EmbeddingPrice | undefined;
  /** Slow one-time setup, such as a model download. May be called concurrently; aborts itself if stalled. */
  prepare?(options: { signal: AbortSignal; progress: (update: SyncProgress) => void }): Promise<void>;
  /** Loads what the first call needs, without a request. A failure here recurs in the call. */
  warm?(): Promise<void>;
  embedQuery(text: string, options?: EmbeddingCallOptions): Promise<ArrayLike<number>>;
  /** One vector for each text, in the same order. */
  embedBatch(texts: readonly string[], options?: EmbeddingCallOptions): Promise<ArrayLike<number>[]>;
  /** The provider's interface for many texts that can wait, where it has one. Used with `remote.batch.enabled`. */
  readonly batches?: EmbeddingBatches | undefined;
  close?(): Promise<void>;
}

/** What tokens cost, from a dated table. */
export interface EmbeddingPrice {
  usdPerMillionTokens: number;
  /** The same through the batch interface, where it is cheaper. */
  batchUsdPerMillionTokens?: number | undefined;
  /** When it was looked up, `YYYY-MM-DD`. */
  asOf: string;
  /** The page it stands on. */
  source: string;
}

/** Where requests go, for people to read, and for remembering that it refuses them. */
export interface EmbeddingEndpoint {
  /** `api.openai.com`, `127.0.0.1:11434`, `this machine`. */
  host: string;
  /** Hash of endpoint, key and model; recorded failures are stored under this name. */
  keySource?: string | undefined;
  /** Hash of endpoint, key and model. Recorded failures are stored under this name. */
  fingerprint: string;
}

/** Jobs that the other side works off when it has time. A job is named by a text that outlives this process. */
export interface EmbeddingBatches {
  /** Texts that one job may hold. */
  readonly maxItems: number;
  /** Bytes of text that one job may hold, as far as the host counts them: UTF-8 of the texts. */
  readonly maxBytes: number;
  /** Gives the name of the job. */
  submit(texts: readonly string[], options: { signal: AbortSignal }): Promise<string>;
  state(job: string, options: { signal: AbortSignal }): Promise<EmbeddingJobState>;
  /** Results of a job in order: vector, `EmbeddingError`, or undefined if not processed. Repeatable. */
  collect(
    job: string,
    options: EmbeddingCallOptions & { count: number },
  ): Promise<(ArrayLike<number> | EmbeddingError | undefined)[]>;
  /** Ends a job that no caller waits for, and clears away what is left of it. */
  cancel(job: string, options: { signal: AbortSignal }): Promise<void>;
  /** Clears away what is left of a job whose vectors are stored. What stays behind must do no harm. */
  discard?(job: string, options: { signal: AbortSignal }): Promise<void>;
}

export type EmbeddingJobState =
  | { state: "running"; completed?: number | undefined }
  | { state: "done" }
  /** `expired` jobs were not finished in time; `unknown` ones the other side does not know (any more). */
  | { state: "failed" | "expired" | "unknown"; reason: string };

/** The outcome of choosing a provider: one, or none and why. */
export interface EmbeddingChoice {
  /** Undefined: keyword-only. */
  provider: EmbeddingProvider | undefined;
  /** What the configuration asks for (`auto`, `none`, an id). */
  requested: string;
  /** Why this one, or why none and how to add one. */
  reason: string;
  /** True when an explicitly configured provider could not be used: answers are then marked `degraded`. */
  degraded: boolean;
  /** What `auto` looked at before it came to this, with why it went on. */
  passedOver?: readonly { id: string; reason: string }[] | undefined;
  /** Set when the provider is the standby already, as the one that was asked for could not be opened. */
  fallback?: MemoryFallback | undefined;
  /** The standby, opened when the provider fails permanently. Absent if there is none or it is in use. */
  spare?: { id: string; open: (signal: AbortSignal) => Promise<EmbeddingProvider> } | undefined;
  /** Opens the provider with the model of earlier vectors. Throws if it is unavailable; downloads nothing. */
  openModel?: ((model: string, signal: AbortSignal) => Promise<EmbeddingProvider>) | undefined;
}
