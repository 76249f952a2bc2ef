/**
 * Turns texts into vectors. It states its limits and holds no loop, no retry and no cache: the host packs requests,
 * splits, retries, checks and normalises.
 */
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
  /** What besides id and model decides the vectors (task type, prefix). Part of the key of stored vectors. */
  readonly cacheKey?: string | undefined;
  embedQuery(text: string, options?: { signal?: AbortSignal | undefined }): Promise<ArrayLike<number>>;
  /** One vector for each text, in the same order. */
  embedBatch(texts: readonly string[], options?: { signal?: AbortSignal | undefined }): Promise<ArrayLike<number>[]>;
  close?(): Promise<void>;
}

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
}
