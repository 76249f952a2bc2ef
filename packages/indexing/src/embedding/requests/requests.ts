import {
  EmbeddingError,
  embeddingErrorOf,
  type EmbeddingProvider,
  MemoryError,
  traceCall,
  withDeadline,
} from "@memslot/core";
import { estimateTokens } from "../../text/token-weight.ts";
import { QueryVectors } from "../query-vectors.ts";
import { unitVector, unitVectors } from "../unit-vector.ts";
import { type Circuit, type Pass, pause } from "./circuit.ts";
import { type Budget, OverBudget, type Usage } from "./usage.ts";

/** No provider has a reason to refuse it. */
export const plainText = "memory";

export interface EmbedOptions {
  signal: AbortSignal;
  /** Who wants the vectors, for the count of usage. */
  reason: string;
  /** A person asked for it: an open circuit is tried once. */
  asked: boolean;
  /** What it may cost. Left out: as much as it takes. */
  budget?: Budget | undefined;
  /** Told what is waited for when an attempt has failed, in words to be shown beside what is being done. */
  onRetry?: ((words: string) => void) | undefined;
  /** How often it is sent at most if failures are transient; four times if left out. */
  attempts?: number | undefined;
}

/** One request to the provider, sent again where that may help. */
interface Call extends EmbedOptions {
  operation: "embedQuery" | "embedBatch";
  texts: readonly string[];
  /** For each attempt. */
  deadlineMs: number;
  attempts: number;
  /** Whether the call waits so many milliseconds before it is sent again. */
  waits: (milliseconds: number) => boolean;
}

const second = 1000;
const minute = 60 * second;
/** What one request over the network may take, and one to a model that this machine has to load and run. */
const requestMs = minute;
const localRequestMs = 10 * minute;
/** For background requests: one that hangs must not delay the next one, which may be answered, for long. */
const behindMs = 20 * second;
/** A question that hangs is not joined for long by those who ask the same. */
const queryMs = 20 * second;
const localQueryMs = 5 * minute;
const queryPatienceMs = 8 * second;
/** What one call may wait between its attempts, in all. */
const waitInAllMs = 2 * minute;
const usualAttempts = 4;
const queryAttempts = 3;
const fewAttempts = 2;
const firstPauseMs = 500;
/** Of the pause, up or down. */
const jitter = 0.2;
/** A call gives up after so many rate limits, even if each is over in time. */
const mostRateLimits = 10;

/** What makes vectors of requests: `EmbeddingRequests`, or in tests a script. */
export type Requests = Pick<EmbeddingRequests, "provider" | "embed" | "unit" | "spent"> & {
  readonly circuit: Pick<Circuit, "state" | "enter" | "fail" | "succeed">;
};

/** The requests to one provider: limited, tried again, counted and checked, with its circuit kept. */
export class EmbeddingRequests {
  readonly provider: EmbeddingProvider;
  readonly circuit: Circuit;
  readonly #usage: Usage;
  /** What one request for vectors of notes may take, where that is set. */
  readonly #requestMs: number | undefined;
  readonly #queries: QueryVectors;

  constructor(options: {
    provider: EmbeddingProvider;
    circuit: Circuit;
    usage: Usage;
    requestMs?: number | undefined;
  }) {
    const { provider, circuit, usage } = options;
    this.provider = provider;
    this.circuit = circuit;
    this.#usage = usage;
    this.#requestMs = options.requestMs;
    const deadlineMs = provider.isLocal ? localQueryMs : queryMs;
    // A query has no budget: questions go on when the notes of the day have used it up.
    const how = { operation: "embedQuery", asked: false, attempts: queryAttempts, deadlineMs } as const;
    this.#queries = new QueryVectors({
      what: `the embedding provider ${provider.id}`,
      embed: async (query, request) => {
        const [vector] = await this.#call({ ...how, ...request, texts: [query] });
        return vector as Float32Array;
      },
    });
  }

  /**
   * The vectors of some texts, made in one request: of unit length, in their order. A transient failure is tried again up
   * to four times in all. One that got no answer in time is tried again once, and not at all if it has several texts: fewer
   * may pass. One of several texts that got an unusable answer is tried again once. A rate limit is waited for, up to two minutes. Throws an `EmbeddingError` when it is given up,
   * at once where the circuit is open, `OverBudget` where the budget does not reach, and the signal's reason when aborted.
   */
  async embed(texts: readonly string[], options: EmbedOptions): Promise<Float32Array[]> {
    const { signal, asked, reason, attempts = usualAttempts } = options;
    signal.throwIfAborted();
    if (texts.length === 0) return [];
    const deadlineMs = this.#requestMs ?? (this.provider.isLocal ? localRequestMs : asked ? requestMs : behindMs);
    let leftMs = waitInAllMs;
    const waits = (wantedMs: number): boolean => {
      const isEnough = wantedMs <= leftMs;
      if (isEnough) leftMs -= wantedMs;
      return isEnough;
    };
    return await traceCall(
      "embedding",
      () => ({ operation: "embedBatch", ...this.#names(), texts: texts.length, reason }),
      () => this.#call({ ...options, operation: "embedBatch", texts, attempts, deadlineMs, waits }),
      ([vector]) => ({ dimensions: vector?.length }),
    );
  }

  /**
   * The vector of a query, of unit length. Ends within `patienceMs` (8 seconds if left out) with a vector or an
   * `EmbeddingError`. The request then continues for the next caller with the same query; the last 256 vectors are kept.
   */
  async embedQuery(
    query: string,
    options: { signal: AbortSignal; reason: string; patienceMs?: number | undefined },
  ): Promise<Float32Array> {
    const { signal, reason, patienceMs = queryPatienceMs } = options;
    return await traceCall(
      "embedding",
      () => ({ operation: "embedQuery", ...this.#names(), texts: 1, reason }),
      () => this.#queries.get(query, { signal, reason, patienceMs }),
      ({ length }) => ({ dimensions: length }),
    );
  }

  /** Checks a vector that came another way, and scales it. Throws an `EmbeddingError` of kind `transient` for a bad one. */
  unit(vector: ArrayLike<number>): Float32Array {
    return unitVector(vector, this.provider);
  }

  /** Counts what was spent another way. */
  spent(usage: { reason: string; requests: number; tokens: number }): void {
    this.#usage.add({ ...this.#names(), ...usage });
  }

  /** Ends the queries that go on. The provider stays open. */
  async close(): Promise<void> {
    await this.#queries.close();
  }

  #names(): { provider: string; model: string } {
    return { provider: this.provider.id, model: this.provider.model };
  }

  /** Makes a call. Throws an `EmbeddingError` when it is given up, `OverBudget`, or the signal's reason. */
  async #call(call: Call): Promise<Float32Array[]> {
    const { signal, asked, operation } = call;
    // A search does not wait for the end of a rate limit.
    const waits = operation === "embedQuery" ? () => false : call.waits;
    let pass: Pass | undefined;
    let attempt = 1;
    let rateLimits = 0;
    let sent = 0;
    try {
      for (;;) {
        pass ??= await this.circuit.pass({ signal, asked, isBack: rateLimits > 0, waits });
        let failure: EmbeddingError;
        try {
          return await this.#sendOnce(call, pass, ++sent);
        } catch (error) {
          signal.throwIfAborted();
          if (error instanceof OverBudget) throw error;
          failure = embeddingErrorOf(error, this.provider.id);
        }
        if (failure.kind === "rate" && ++rateLimits < mostRateLimits) {
          pass.end(failure);
          // The circuit knows when it is over, and refuses where that is too late.
          pass = undefined;
          continue;
        }
        const pauseMs = this.#pauseAfter(attempt, failure);
        const most = attemptsFor(call, failure);
        if (failure.kind !== "transient" || attempt >= most || !call.waits(pauseMs)) {
          pass.end(failure);
          throw failure;
        }
        attempt++;
        const words = `waits ${(pauseMs / 1000).toFixed(1)} s; before: ${failure.message}`;
        call.onRetry?.(`attempt ${attempt} of ${most}, ${words}`);
        if (!pass.isProbing()) {
          pass.end(failure);
          pass = undefined;
        }
        await pause(pauseMs, signal);
      }
    } finally {
      pass?.end();
    }
  }

  async #sendOnce(call: Call, pass: Pass, attempt: number): Promise<Float32Array[]> {
    const { texts, reason, signal, deadlineMs, budget, operation } = call;
    const { provider } = this;
    signal.throwIfAborted();
    const estimate = Math.ceil(texts.reduce((sum, text) => sum + estimateTokens(text), 0));
    const entry = { reason, ...this.#names() };
    const taken = budget?.take({ ...entry, tokens: estimate });
    let said: number | undefined;
    let isSpent = false;
    const onUsage = ({ tokens }: { tokens: number }): void => {
      if (Number.isFinite(tokens) && tokens >= 0) said = (said ?? 0) + tokens;
    };
    const send = async (inner: AbortSignal): Promise<readonly ArrayLike<number>[]> =>
      operation === "embedBatch"
        ? await provider.embedBatch(texts, { signal: inner, onUsage })
        : [await provider.embedQuery(texts[0] ?? "", { signal: inner, onUsage })];
    try {
      const answer = await traceCall(
        "provider",
        () => ({ operation, ...this.#names(), texts: texts.length, attempt }),
        () => withDeadline({ what: `the embedding provider ${provider.id}`, deadlineMs, signals: [signal] }, send),
        () => (said === undefined ? {} : { tokens: said }),
      );
      isSpent = true;
      pass.end("answered");
      if (operation === "embedBatch") return unitVectors(answer, texts.length, provider);
      return answer.map((vector) => unitVector(vector, provider));
    } catch (error) {
      // The cost of a request without an answer is unknown. A budget counts it.
      const isUnknown = signal.aborted || MemoryError.is(error, "UNAVAILABLE");
      isSpent ||= EmbeddingError.is(error) ? error.hasCost : taken !== undefined && isUnknown;
      throw error;
    } finally {
      const tokens = Math.ceil(said ?? (isSpent ? estimate : 0));
      if (taken) taken.settle(tokens);
      else this.#usage.add({ ...entry, requests: 1, tokens });
    }
  }

  /** Milliseconds before the next attempt: half a second, doubled each time, or as long as the other side wants. */
  #pauseAfter(attempt: number, { retryAfterMs = 0 }: EmbeddingError): number {
    const chance = 1 - jitter + 2 * jitter * this.circuit.random();
    return Math.max(retryAfterMs, firstPauseMs * 2 ** (attempt - 1) * chance);
  }
}

/** Asks for the vector of a plain word, within so many milliseconds. Throws where none comes. */
export async function knock(
  requests: Pick<Requests, "provider" | "embed">,
  deadlineMs: number,
  how: EmbedOptions,
): Promise<void> {
  const limits = { what: `the embedding provider ${requests.provider.id}`, deadlineMs, signals: [how.signal] };
  await withDeadline(limits, (signal) => requests.embed([plainText], { ...how, signal }));
}

/**
 * A request without an answer in time has taken long already, and one with an unusable answer is paid for. If it has
 * several texts, the caller halves it.
 */
function attemptsFor(
  { texts, attempts }: { texts: readonly string[]; attempts: number },
  failure: EmbeddingError,
): number {
  if (isTimeLimit(failure)) return texts.length > 1 ? 1 : Math.min(attempts, fewAttempts);
  const isPaid = failure.hasCost && texts.length > 1 && !isNetworkFault(failure);
  return isPaid ? Math.min(attempts, fewAttempts) : attempts;
}

/** Whether a request failed because it took too long: half of it may be quick enough. */
export function isTimeLimit(error: unknown): boolean {
  return chainOf(error).some((cause) => cause.name === "TimeoutError" || MemoryError.is(cause, "UNAVAILABLE"));
}

/** Whether the connection failed: then no text is to blame. */
export function isNetworkFault(error: unknown): boolean {
  return chainOf(error).some(
    (cause) =>
      /^(?:fetch failed|terminated)$/.test(cause.message) ||
      ("code" in cause && /^E(?!RR_)|^UND_ERR|CERT|SSL|TLS/.test(String(cause.code))),
  );
}

function chainOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let cause = error; cause instanceof Error && chain.length < 8; cause = cause.cause) chain.push(cause);
  return chain;
}
