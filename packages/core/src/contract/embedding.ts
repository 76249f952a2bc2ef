import type { EmbeddingError } from "./provider-error.ts";
import type { SentenceMeaning } from "./sentences.ts";
import type { MemoryFallback, SyncProgress } from "./status.ts";

export interface EmbeddingCallOptions {
  signal?: AbortSignal | undefined;
  /** Receives the tokens that the server reports for the call. The host estimates them if it is not called. */
  onUsage?: ((usage: { tokens: number }) => void) | undefined;
}

/** Turns texts into vectors. The host packs, splits, retries and caches. Its calls throw `ProviderError`. */
export interface EmbeddingProvider {
  readonly id: string;
  /** Name of the model, part of the key of stored vectors. */
  readonly model: string;
  /** Vector length. Absent if unknown before the first call. */
  readonly dimensions?: number | undefined;
  /** Maximum tokens of one text. */
  readonly maxInputTokens?: number | undefined;
  /** Maximum texts of one request. */
  readonly maxBatchItems?: number | undefined;
  /** Maximum tokens of one request. */
  readonly maxBatchTokens?: number | undefined;
  /** Concurrent requests. Absent: `remote.nonBatchConcurrency` (4). */
  readonly maxConcurrency?: number | undefined;
  /** Whatever besides id and model changes the vectors (task type, prefix). Part of the key of stored vectors. */
  readonly cacheKey?: string | undefined;
  /** The model runs on the user's machine, which may be slow: calls have longer deadlines. */
  readonly isLocal?: boolean | undefined;
  readonly endpoint?: EmbeddingEndpoint | undefined;
  /** Absent if unknown. A price of 0 switches the daily token budget off. */
  readonly price?: EmbeddingPrice | undefined;
  /** Slow one-time setup, such as a model download. May be called concurrently; must end by itself if it stalls. */
  prepare?(options: { signal: AbortSignal; progress: (update: SyncProgress) => void }): Promise<void>;
  /** Loads what the first call needs, without a request. A failure here recurs in the call. */
  warm?(): Promise<void>;
  /** The vector of a query: finite numbers, always of the same length. */
  embedQuery(text: string, options?: EmbeddingCallOptions): Promise<ArrayLike<number>>;
  /** One vector for each text, in the order of the texts. */
  embedBatch(texts: readonly string[], options?: EmbeddingCallOptions): Promise<ArrayLike<number>[]>;
  /** The provider's batch API, if it has one. Used with `remote.batch.enabled`. */
  readonly batches?: EmbeddingBatches | undefined;
  /** Frees everything. Called once. */
  close?(): Promise<void>;
}

/** Price of tokens, from a dated table. */
export interface EmbeddingPrice {
  usdPerMillionTokens: number;
  /** Price through the batch API; absent if it is not cheaper. */
  batchUsdPerMillionTokens?: number | undefined;
  /** Day on which the price was read: `YYYY-MM-DD`. */
  asOf: string;
  /** Address of the page with the price. */
  source: string;
}

/** Where requests go: for people, and as the key of recorded failures. */
export interface EmbeddingEndpoint {
  /** `api.openai.com`, `127.0.0.1:11434`, `this machine`. */
  host: string;
  /** Where the key came from, such as `OPENAI_API_KEY`; never the key. */
  keySource?: string | undefined;
  /** Hash of endpoint, key and model. Recorded failures are stored under this name. */
  fingerprint: string;
}

/** Batch jobs, which the server processes later. Their names outlive this process. Calls throw `ProviderError`. */
export interface EmbeddingBatches {
  /** Maximum texts of one job. */
  readonly maxItems: number;
  /** Maximum bytes of one job: UTF-8 of its texts. */
  readonly maxBytes: number;
  /** Submits a job and returns its name. */
  submit(texts: readonly string[], options: { signal: AbortSignal }): Promise<string>;
  state(job: string, options: { signal: AbortSignal }): Promise<EmbeddingJobState>;
  /** Results for the `count` texts in order: vector, `ProviderError`, or `undefined` if not processed. Repeatable. */
  collect(
    job: string,
    options: EmbeddingCallOptions & { count: number },
  ): Promise<(ArrayLike<number> | EmbeddingError | undefined)[]>;
  /** Ends a job and deletes its files on the server. */
  cancel(job: string, options: { signal: AbortSignal }): Promise<void>;
  /** Deletes the files of a job on the server after its vectors were stored. Files that remain must do no harm. */
  discard?(job: string, options: { signal: AbortSignal }): Promise<void>;
}

/** State of a batch job. `completed`: processed texts. */
export type EmbeddingJobState =
  | { state: "running"; completed?: number | undefined }
  | { state: "done" }
  /** `expired`: not finished in time. `unknown`: the server does not know the job (any more). */
  | { state: "failed" | "expired" | "unknown"; reason: string };

/** The selected embedding provider, or the reason why there is none. */
export interface EmbeddingChoice extends SentenceMeaning {
  /** `undefined`: keyword search only. */
  provider: EmbeddingProvider | undefined;
  /** Value of `memorySearch.provider`: `auto`, `none`, an id. */
  requested: string;
  /** Why this provider, or why none and how to add one. */
  reason: string;
  /** True if a configured provider could not be used: answers are then marked `degraded`. */
  degraded: boolean;
  /** Providers that `auto` rejected before, each with the reason. */
  passedOver?: readonly { id: string; reason: string }[] | undefined;
  /** Set if the provider is the fallback, because the requested one could not be opened. */
  fallback?: MemoryFallback | undefined;
  /** The fallback provider, opened when the provider fails permanently. Absent if there is none or it is in use. */
  spare?: { id: string; open: (signal: AbortSignal) => Promise<EmbeddingProvider> } | undefined;
  /** Opens the provider with the model of existing vectors. Throws `UNAVAILABLE`; downloads nothing. */
  openModel?: ((model: string, signal: AbortSignal) => Promise<EmbeddingProvider>) | undefined;
}
