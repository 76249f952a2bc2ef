import { ProviderError, type EmbeddingProvider, MemoryError, withDeadline } from "@memslot/core";
import { traceCall } from "@memslot/core/host";
import { estimateTokens } from "../../text/split-by-tokens.ts";
import type { Call, Circuit, Pass } from "./circuit-breaker.ts";
import { QueryVectors } from "./query-vectors.ts";
import { unitVector, unitVectors } from "./unit-vector.ts";
import type { Usage } from "./usage.ts";

/** No provider has a reason to refuse it. */
export const plainText = "memory";

export interface EmbedOptions extends Pick<Call, "signal" | "asked" | "onRetry"> {
  reason: string;
  budget?: Pick<Usage, "reserve" | "left" | "reason"> | undefined;
  attempts?: number | undefined;
}

interface EmbedCall extends Call, Pick<EmbedOptions, "reason" | "budget"> {
  operation: "embedQuery" | "embedBatch";
  texts: readonly string[];
  deadlineMs: number;
}

const second = 1000;
const minute = 60 * second;
const requestMs = minute;
const localRequestMs = 10 * minute;
/** A background request that hangs must not delay the next one, which may be answered. */
const backgroundMs = 20 * second;
/** Callers with the same query join a request for so long. */
const queryMs = 20 * second;
const localQueryMs = 5 * minute;
const queryPatienceMs = 8 * second;
/** All pauses between the attempts of one call. */
const mostPausesMs = 2 * minute;
const usualAttempts = 4;
const queryAttempts = 3;

export type Requests = Pick<EmbeddingRequests, "provider" | "embed" | "spent"> & {
  readonly circuit: Pick<Circuit, "state" | "enter">;
};

/** The requests to one provider: limited, repeated, counted and checked. */
export class EmbeddingRequests {
  readonly provider: EmbeddingProvider;
  readonly circuit: Circuit;
  readonly #usage: Usage;
  readonly #requestMs: number | undefined;
  readonly #queries: QueryVectors;

  constructor(provider: EmbeddingProvider, circuit: Circuit, usage: Usage, requestMs?: number) {
    this.provider = provider;
    this.circuit = circuit;
    this.#usage = usage;
    this.#requestMs = requestMs;
    const deadlineMs = provider.isLocal ? localQueryMs : queryMs;
    // A query has no budget: search continues when the notes of the day have used it up.
    const fixed = { operation: "embedQuery", asked: false, isDivisible: false, waitsForLimit: () => false } as const;
    this.#queries = new QueryVectors(`the embedding provider ${provider.id}`, async (query, request) => {
      const call = { ...fixed, ...request, texts: [query], attempts: queryAttempts, deadlineMs };
      const [vector] = await this.#call(call);
      return vector as Float32Array;
    });
  }

  /** Embeds texts in order as unit vectors. Throws `ProviderError`, `OverBudget`, or the signal's reason. */
  async embed(texts: readonly string[], options: EmbedOptions): Promise<Float32Array[]> {
    const { signal, asked, reason, attempts = usualAttempts } = options;
    signal.throwIfAborted();
    if (texts.length === 0) return [];
    const deadlineMs = this.#requestMs ?? (this.provider.isLocal ? localRequestMs : asked ? requestMs : backgroundMs);
    let leftMs = mostPausesMs;
    const waits = (wantedMs: number): boolean => {
      const isEnough = wantedMs <= leftMs;
      if (isEnough) leftMs -= wantedMs;
      return isEnough;
    };
    const plan = { operation: "embedBatch", isDivisible: texts.length > 1, waits, waitsForLimit: waits } as const;
    return await traceCall(
      "embedding",
      () => ({ operation: "embedBatch", ...this.#names(), texts: texts.length, reason }),
      () => this.#call({ ...options, ...plan, texts, attempts, deadlineMs }),
      ([vector]) => ({ dimensions: vector?.length }),
    );
  }

  /** Embeds a query within `patienceMs`, 8 seconds if left out. Throws an `ProviderError` or the signal's reason. */
  async embedQuery(
    query: string,
    options: { signal: AbortSignal; reason: string; patienceMs?: number | undefined },
  ): Promise<Float32Array> {
    const { patienceMs = queryPatienceMs, reason } = options;
    return await traceCall(
      "embedding",
      () => ({ operation: "embedQuery", ...this.#names(), texts: 1, reason }),
      () => this.#queries.get(query, { ...options, patienceMs }),
      ({ length }) => ({ dimensions: length }),
    );
  }

  /** Counts what a batch job has cost. */
  spent(usage: { reason: string; requests: number; tokens: number }): void {
    this.#usage.add({ ...this.#names(), ...usage });
  }

  async close(): Promise<void> {
    await this.#queries.close();
  }

  #names(): { provider: string; model: string } {
    return { provider: this.provider.id, model: this.provider.model };
  }

  async #call(call: EmbedCall): Promise<Float32Array[]> {
    return await this.circuit.run(call, this.provider.id, (pass, attempt) => this.#send(call, pass, attempt));
  }

  async #send(call: EmbedCall, pass: Pass, attempt: number): Promise<Float32Array[]> {
    const { texts, reason, signal, deadlineMs, budget, operation } = call;
    const { provider } = this;
    signal.throwIfAborted();
    const estimate = Math.ceil(texts.reduce((sum, text) => sum + estimateTokens(text), 0));
    const entry = { reason, ...this.#names() };
    const reservedOn = budget?.reserve({ ...entry, requests: 0, tokens: estimate });
    let reported: number | undefined;
    let isSpent = false;
    const onUsage = ({ tokens }: { tokens: number }): void => {
      if (Number.isFinite(tokens) && tokens >= 0) reported = (reported ?? 0) + tokens;
    };
    const request = async (inner: AbortSignal): Promise<readonly ArrayLike<number>[]> =>
      operation === "embedBatch"
        ? await provider.embedBatch(texts, { signal: inner, onUsage })
        : [await provider.embedQuery(texts[0] ?? "", { signal: inner, onUsage })];
    try {
      const answer = await traceCall(
        "provider",
        () => ({ operation, ...this.#names(), texts: texts.length, attempt }),
        () => withDeadline({ what: `the embedding provider ${provider.id}`, deadlineMs, signals: [signal] }, request),
        () => (reported === undefined ? {} : { tokens: reported }),
      );
      isSpent = true;
      pass.end("answered");
      if (operation === "embedBatch") return unitVectors(answer, texts.length, provider);
      return answer.map((vector) => unitVector(vector, provider));
    } catch (error) {
      // The cost of a request without an answer is unknown. A budget counts it.
      const isUnknown = signal.aborted || MemoryError.is(error, "UNAVAILABLE");
      isSpent ||= ProviderError.is(error) ? error.hasCost : reservedOn !== undefined && isUnknown;
      throw error;
    } finally {
      const tokens = Math.ceil(reported ?? (isSpent ? estimate : 0));
      const reserved = reservedOn === undefined ? 0 : estimate;
      this.#usage.add({ ...entry, requests: 1, tokens: tokens - reserved }, reservedOn);
    }
  }
}

/** Asks for the vector of a plain word. Throws if none comes in time. */
export async function ping(
  requests: Pick<Requests, "provider" | "embed">,
  deadlineMs: number,
  options: EmbedOptions,
): Promise<void> {
  const limits = { what: `the embedding provider ${requests.provider.id}`, deadlineMs, signals: [options.signal] };
  await withDeadline(limits, (signal) => requests.embed([plainText], { ...options, signal }));
}
