import { type DeterministicEmbeddings, deterministicEmbeddings } from "@memslot/testkit";

/** An object is sent as JSON, text and bytes as they are. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body: unknown;
}

export interface Call {
  method: string;
  url: URL;
  headers: Record<string, string>;
  raw: Buffer;
  /** The body if it is JSON. */
  json: unknown;
}

export interface ApiLimits {
  /** Tokens of one text. */
  inputTokens?: number | undefined;
  /** Texts of one request. */
  items?: number | undefined;
  /** Tokens of one request. */
  requestTokens?: number | undefined;
}

/** What both APIs are made from. */
export interface ApiParts {
  vectors: VectorSource;
  jobs: JobQueue;
  limits: ApiLimits;
  apiKey: string | undefined;
}

export function ok(body: unknown, headers: Record<string, string> = {}): Answer {
  return { status: 200, headers, body };
}

export function encode({ body }: Answer): { bytes: Buffer; type: string } {
  if (Buffer.isBuffer(body)) return { bytes: body, type: "application/octet-stream" };
  if (typeof body !== "string") return { bytes: Buffer.from(JSON.stringify(body)), type: "application/json" };
  return { bytes: Buffer.from(body), type: /^\s*</.test(body) ? "text/html; charset=UTF-8" : "text/plain" };
}

export function openAiError(
  status: number,
  message: string,
  details: { type?: string; code?: string; param?: string } = {},
): Answer {
  const { type = "invalid_request_error", code = null, param = null } = details;
  return { status, body: { error: { message, type, param, code } } };
}

const words: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

export function geminiError(code: number, message: string): Answer {
  return { status: code, body: { error: { code, message, status: words[code] ?? "UNKNOWN" } } };
}

/** By the path, or by the key: both APIs have `/v1/files`, `/v1/batches` and `/v1/models`. */
export function isGeminiCall({ url, headers }: Pick<Call, "url" | "headers">): boolean {
  return (
    headers["x-goog-api-key"] !== undefined ||
    /^\/(?:v1beta|upload)\b/.test(url.pathname) ||
    /^\/v1\/models\/[^/]+:\w/.test(url.pathname)
  );
}

type Embed = (text: string, identity: { model: string; dimensions: number }) => Float32Array;

export class VectorSource {
  counts = { texts: 0, tokens: 0 };
  readonly #models = new Map<string, DeterministicEmbeddings>();
  readonly #options: { dimensions?: number | undefined; embed?: Embed | undefined };

  constructor(options: { dimensions?: number | undefined; embed?: Embed | undefined }) {
    this.#options = options;
  }

  async embed(
    model: string,
    texts: readonly string[],
    wanted: unknown,
  ): Promise<{ vectors: Float32Array[]; tokens: number }> {
    const dimensions = typeof wanted === "number" ? wanted : (this.#options.dimensions ?? 768);
    const vectors: Float32Array[] = [];
    for (const text of texts) vectors.push(await this.#vectorOf(text, { model, dimensions }));
    const tokens = tokensOf(texts);
    this.counts.texts += texts.length;
    this.counts.tokens += tokens;
    return { vectors, tokens };
  }

  async #vectorOf(text: string, identity: { model: string; dimensions: number }): Promise<Float32Array> {
    if (this.#options.embed !== undefined) return this.#options.embed(text, identity);
    const name = JSON.stringify(identity);
    const model = this.#models.get(name) ?? deterministicEmbeddings(identity);
    this.#models.set(name, model);
    return Float32Array.from(await model.embedQuery(text));
  }
}

/** One token for four characters. */
export function tokensOf(texts: readonly string[]): number {
  return Math.ceil(texts.reduce((sum, text) => sum + text.length, 0) / 4);
}

export interface JobBehaviour {
  /** `partial`: every third text fails. `expired`: half of the texts were processed (OpenAI), or none (Gemini). */
  outcome?: "done" | "failed" | "expired" | "partial" | undefined;
  ms?: number | undefined;
}

interface JobInput {
  id: string;
  requests: { key: string; request: unknown }[];
  embed: (request: unknown) => Promise<Answer>;
  /** The answer for a text that fails in a `partial` job. */
  failure: Answer;
  /** Stores the results, last text first, as servers may do. An expired text has no answer. */
  store: (results: { key: string; answer: Answer | undefined }[]) => Record<string, unknown>;
}

export interface Job extends JobInput {
  outcome: NonNullable<JobBehaviour["outcome"]>;
  endsAt: number;
  isCancelled: boolean;
  /** What `store` returned at the end. */
  output?: Record<string, unknown>;
  /** Processed texts. */
  completed: number;
  failed: number;
}

export class JobQueue {
  readonly #jobs = new Map<string, Job>();
  readonly #jobMs: number;
  #behaviour: JobBehaviour = {};

  constructor(jobMs: number) {
    this.#jobMs = jobMs;
  }

  set(behaviour: JobBehaviour): void {
    this.#behaviour = behaviour;
  }

  start(input: JobInput): Job {
    const { outcome = "done", ms = this.#jobMs } = this.#behaviour;
    const job: Job = { ...input, outcome, endsAt: Date.now() + ms, isCancelled: false, completed: 0, failed: 0 };
    this.#jobs.set(input.id, job);
    return job;
  }

  /** Does the work of a job at the first call after its end. */
  async get(id: string): Promise<Job | undefined> {
    const job = this.#jobs.get(id);
    if (!job || job.output || job.isCancelled || Date.now() < job.endsAt) return job;
    job.output = {};
    if (job.outcome === "failed") return job;
    const results = [];
    for (const [index, { key, request }] of job.requests.entries()) {
      const isLate = job.outcome === "expired" && index >= job.requests.length / 2;
      const isBad = job.outcome === "partial" && index % 3 === 2;
      const answer = isLate ? undefined : isBad ? job.failure : await job.embed(request);
      if (answer?.status === 200) job.completed++;
      else job.failed++;
      results.unshift({ key, answer });
    }
    job.output = job.store(results);
    return job;
  }
}

export function jobState({
  isCancelled,
  output,
  outcome,
}: Job): "cancelled" | "running" | "failed" | "expired" | "done" {
  if (isCancelled) return "cancelled";
  if (output === undefined) return "running";
  return outcome === "partial" ? "done" : outcome;
}
