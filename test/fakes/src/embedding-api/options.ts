import type { ApiFault } from "./faults.ts";
import type { JobBehaviour } from "./jobs.ts";

export interface EmbeddingApiOptions {
  /** Length of the vectors where a request does not ask for another; 768 if left out. */
  dimensions?: number | undefined;
  /** Milliseconds that pass before each answer. */
  latencyMs?: number | undefined;
  /** Milliseconds that a batch job takes; 50 if left out. */
  jobMs?: number | undefined;
  /** Any other key is answered with 401. If left out, every key is right, and OpenAI's paths need none. */
  apiKey?: string | undefined;
  /** What is beyond is answered with 400. If left out: 2048 texts of 8192 tokens and 300,000 in all for OpenAI, 100 texts for Gemini. */
  limits?: EmbeddingApiLimits | undefined;
  /** Makes the vectors in place of the deterministic embeddings, where a cheaper or a known vector is wanted. */
  embed?: ((text: string, identity: { model: string; dimensions: number }) => Float32Array) | undefined;
}

export interface EmbeddingApiLimits {
  /** Tokens of one text. */
  inputTokens?: number | undefined;
  /** Texts of one request. */
  items?: number | undefined;
  /** Tokens of one request. */
  requestTokens?: number | undefined;
}

/** A request as it came in. */
export interface ApiRequest {
  method: string;
  /** With the query, as it was sent. */
  path: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
  /** Milliseconds since 1970. */
  at: number;
}

interface EmbeddingApiStats {
  requests: number;
  /** Requests for vectors, failed ones too; uploads and batch jobs are not among them. */
  embeddingRequests: number;
  /** Texts that got a vector, in batch jobs too. */
  texts: number;
  /** Tokens of these texts. */
  tokens: number;
  /** The most requests that were under way at one time. */
  maxInFlight: number;
}

export interface EmbeddingApi {
  /** `http://127.0.0.1:PORT`: the base URL for Gemini; with `/v1` behind it, the one for OpenAI. */
  readonly url: string;
  /** Every request since the start or the last reset, oldest first. */
  readonly log: readonly ApiRequest[];
  stats(): EmbeddingApiStats;
  /** Answers the next requests that match in this way. Of several faults the one that was added first goes first. */
  fail(fault: ApiFault): void;
  /** For the jobs that are submitted from now on. */
  setJobs(behaviour: JobBehaviour): void;
  /** Forgets log, counts and faults. Files and jobs stay. */
  reset(): void;
  /** Ends the server and every connection, hanging ones too. */
  close(): Promise<void>;
}
