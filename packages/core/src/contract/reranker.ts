import type { EmbeddingEndpoint } from "./embedding.ts";
import type { NoteLines } from "./status.ts";

export interface RerankCallOptions {
  /** Aborted when the answer comes too late to be of use. */
  signal: AbortSignal;
}

/**
 * Reads a query and texts together and says how well each text answers it. It holds no loop, no retry and no cache: the
 * host chooses and cuts the texts, keeps the deadline, tries again, checks the answer and keeps it. What fails it
 * throws as an `EmbeddingError`, as an embedding provider does, so that the host knows what to do.
 */
export interface Reranker {
  readonly id: string;
  readonly model: string;
  /** Tokens that the query and one text may have together. Absent: the host's own limit counts. */
  readonly maxInputTokens?: number | undefined;
  readonly endpoint?: EmbeddingEndpoint | undefined;
  /** Loads what the first call will need, with nothing sent. What fails here fails again in the call. */
  warm?(): Promise<void>;
  /**
   * One score for each text, in the order of the texts: any finite number, higher is better. Scores are compared within
   * one call only. No score for no text.
   */
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
  /**
   * `done`: the order is the reranker's. `failed`: the order of the index stayed. `unused`: the backend ranks by
   * itself.
   */
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
  /** The results in their new order. */
  order?: readonly RerankedPlace[] | undefined;
}

/** One result before and after. Places are 1-based, among the candidates. */
export interface RerankedPlace extends NoteLines {
  before: number;
  after: number;
  /** The score of the index, which `minScore` is compared with. */
  score: number;
  /** The reranker's own; on a scale of its own. */
  rerankScore: number;
}
