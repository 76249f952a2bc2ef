import type { EmbeddingEndpoint } from "./embedding.ts";
import type { SentenceMeaning } from "./sentences.ts";
import type { NoteLines } from "./status.ts";

export interface RerankCallOptions {
  /** Aborted at the deadline of the reranker, and with the search. */
  signal: AbortSignal;
}

/** Scores texts against a query. The host cuts, retries and caches. Its calls throw `ProviderError`. */
export interface Reranker {
  readonly id: string;
  readonly model: string;
  /** Maximum tokens of query and one text together. Absent: the host's limit. */
  readonly maxInputTokens?: number | undefined;
  readonly endpoint?: EmbeddingEndpoint | undefined;
  /** Loads what the first call needs, without a request. A failure here recurs in the call. */
  warm?(): Promise<void>;
  /** One finite score per text, in order, higher is better; comparable within one call only. */
  rerank(query: string, texts: readonly string[], options: RerankCallOptions): Promise<readonly number[]>;
  /** Frees everything. Called once. */
  close?(): Promise<void>;
}

/** The selected reranker, or the reason why there is none. */
export interface RerankChoice extends SentenceMeaning {
  /** `undefined`: results keep the order of the index. */
  reranker: Reranker | undefined;
  /** Value of `query.rerank.provider`: `none` or an id; `given` if the application passed one. */
  requested: string;
  /** Why this reranker, or why none. */
  reason: string;
  /** True if a configured reranker could not be used: answers are then marked `degraded`. */
  degraded: boolean;
}

/** Report of the reranker for one search. */
export interface RerankReport extends SentenceMeaning {
  /** `done`: reranked. `failed`: the index order stayed. `unused`: the backend ranks by itself. */
  state: "done" | "failed" | "unused";
  /** Why it is not `done`. */
  reason?: string | undefined;
  id: string;
  model?: string | undefined;
  /** Number of scored texts. */
  candidates: number;
  /** True if the scores come from the cache. */
  cached: boolean;
  /** Duration in milliseconds. */
  ms: number;
  /** Candidates in their new order. For the owner. */
  order?: readonly RerankedPlace[] | undefined;
}

/** A candidate before and after reranking. */
export interface RerankedPlace extends NoteLines {
  /** Places in the ranking, counted from 1. */
  before: number;
  after: number;
  /** Score of the index, which `minScore` applies to. */
  score: number;
  /** Score of the reranker, on its own scale. */
  rerankScore: number;
}
