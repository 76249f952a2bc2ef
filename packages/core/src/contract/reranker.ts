import type { EmbeddingEndpoint } from "./embedding.ts";
import type { NoteLines } from "./status.ts";

export interface RerankCallOptions {
  /** Aborted when the answer comes too late to be of use. */
  signal: AbortSignal;
}

/** Scores texts against a query. The host cuts, retries and caches. Throws `EmbeddingError`. */
export interface Reranker {
  readonly id: string;
  readonly model: string;
  /** Tokens that the query and one text may have together. Absent: the host's own limit counts. */
  readonly maxInputTokens?: number | undefined;
  readonly endpoint?: EmbeddingEndpoint | undefined;
  /** Loads what the first call will need, with nothing sent. What fails here fails again in the call. */
  warm?(): Promise<void>;
  /** One finite score per text, in order, higher is better; comparable within one call only. */
  rerank(query: string, texts: readonly string[], options: RerankCallOptions): Promise<readonly number[]>;
  /** Frees everything; a call after it is refused. */
  close?(): Promise<void>;
}

/** The outcome of choosing a reranker: one, or none and why. */
export interface RerankChoice {
  /** Undefined: results keep the order of the index. */
  reranker: Reranker | undefined;
  /** What the configuration asks for: `none`, an id, or `given` by the application. */
  requested: string;
  reason: string;
  /** True when a configured reranker could not be used: answers are then marked `degraded`. */
  degraded: boolean;
}

/** What the reranker did for one search. */
export interface RerankReport {
  /** `done`: reranked. `failed`: the index order stayed. `unused`: the backend ranks by itself. */
  state: "done" | "failed" | "unused";
  /** Why it is not `done`. */
  reason?: string | undefined;
  id: string;
  model?: string | undefined;
  /** Texts that were put before it. */
  candidates: number;
  /** Their scores were kept from an earlier search. */
  cached: boolean;
  ms: number;
  order?: readonly RerankedPlace[] | undefined;
}

export interface RerankedPlace extends NoteLines {
  before: number;
  after: number;
  /** The score of the index, which `minScore` is compared with. */
  score: number;
  /** The reranker's own; on a scale of its own. */
  rerankScore: number;
}
