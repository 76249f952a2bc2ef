import { type EmbeddingProvider, traceCall } from "@memslot/core";
import type { Budget } from "./budget.ts";
import type { Circuit } from "./circuit.ts";
import { type Pace, type Patience, createGate } from "./gate.ts";
import { createQueryVectors } from "../query-vectors.ts";
import { createCaller } from "./retry.ts";
import { unitVector, unitVectors } from "../unit-vector.ts";
import type { Usage } from "./usage.ts";

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

/** The requests to one provider: limited, tried again, counted and checked, with its circuit kept. */
export interface EmbeddingRequests {
  readonly provider: EmbeddingProvider;
  readonly circuit: Circuit;
  /**
   * The vectors of some texts, made in one request: of unit length, in their order. A transient failure is tried again up
   * to four times in all. One that got no answer in time is tried again once, and not at all if it has several texts: fewer
   * may pass. One of several texts that got an unusable answer is tried again once. A rate limit is waited for, up to two minutes. Throws an `EmbeddingError` when it is given up,
   * at once where the circuit is open, `OverBudget` where the budget does not reach, and the signal's reason when aborted.
   */
  embed(texts: readonly string[], options: EmbedOptions): Promise<Float32Array[]>;
  /**
   * The vector of a query, of unit length. Ends within `patienceMs` (8 seconds if left out) with a vector or an
   * `EmbeddingError`. What is under way then goes on, and whoever asks the same gets it; the last 256 are kept.
   */
  embedQuery(
    query: string,
    options: { signal: AbortSignal; reason: string; patienceMs?: number | undefined },
  ): Promise<Float32Array>;
  /** Checks a vector that came another way, and scales it. Throws an `EmbeddingError` of kind `transient` for a bad one. */
  unit(vector: ArrayLike<number>): Float32Array;
  /** Counts what was spent another way. */
  spent(usage: { reason: string; requests: number; tokens: number }): void;
  /** Ends the queries that go on. The provider stays open. */
  close(): Promise<void>;
}

const second = 1000;
const minute = 60 * second;
/** What one request over the network may take, and one to a model that this machine has to load and run. */
const requestMs = minute;
const localRequestMs = 10 * minute;
/** Where nobody waits for it: one that hangs must not keep the next one, which may be answered, for long. */
const behindMs = 20 * second;
/** A question that hangs is not joined for long by those who ask the same. */
const queryMs = 20 * second;
const localQueryMs = 5 * minute;
const queryPatienceMs = 8 * second;
/** What one call may wait between its attempts, in all. */
const waitInAllMs = 2 * minute;
const usualAttempts = 4;
const queryAttempts = 3;

export function createEmbeddingRequests(
  options: Partial<Pace> & {
    provider: EmbeddingProvider;
    circuit: Circuit;
    usage: Usage;
    /** What one request for vectors of notes may take, where that is set. */
    requestMs?: number | undefined;
  },
): EmbeddingRequests {
  const { provider, circuit, usage, now = () => new Date(), sleep = pause, random = Math.random } = options;
  const pace = { now, sleep, random };
  const call = createCaller(provider, createGate(circuit, pace), usage, pace);
  const batchDeadlineMs = options.requestMs ?? (provider.isLocal ? localRequestMs : requestMs);
  const behindDeadlineMs = options.requestMs ?? (provider.isLocal ? localRequestMs : behindMs);
  const queryDeadlineMs = provider.isLocal ? localQueryMs : queryMs;

  const names = (): { provider: string; model: string } => ({ provider: provider.id, model: provider.model });

  const queries = createQueryVectors({
    what: `the embedding provider ${provider.id}`,
    now,
    embed: (query, { reason, signal, mayPause }) =>
      call({
        texts: [query],
        reason,
        asked: false,
        signal,
        // Questions go on when the notes of the day have used it up.
        budget: undefined,
        onRetry: undefined,
        deadlineMs: queryDeadlineMs,
        attempts: queryAttempts,
        patience: { waitsForRate: false, take: mayPause },
        operation: "embedQuery",
        send: (how) => provider.embedQuery(query, how),
        read: (vector) => unitVector(vector, provider),
      }),
  });

  return {
    provider,
    circuit,

    async embed(texts, { signal, reason, asked, budget, onRetry, attempts = usualAttempts }) {
      signal.throwIfAborted();
      if (texts.length === 0) return [];
      const embedBatch = (): Promise<Float32Array[]> =>
        call({
          texts,
          reason,
          asked,
          signal,
          budget,
          onRetry,
          deadlineMs: asked ? batchDeadlineMs : behindDeadlineMs,
          attempts,
          patience: waitUpTo(waitInAllMs),
          operation: "embedBatch",
          send: (how) => provider.embedBatch(texts, how),
          read: (vectors) => unitVectors(vectors, texts.length, provider),
        });
      return await traceCall(
        "embedding",
        () => ({ operation: "embedBatch", ...names(), texts: texts.length, reason }),
        embedBatch,
        ([vector]) => ({ dimensions: vector?.length }),
      );
    },

    embedQuery: (query, { signal, reason, patienceMs = queryPatienceMs }) =>
      traceCall(
        "embedding",
        () => ({ operation: "embedQuery", ...names(), texts: 1, reason }),
        () => queries.get(query, { signal, reason, patienceMs }),
        ({ length }) => ({ dimensions: length }),
      ),

    unit: (vector) => unitVector(vector, provider),

    spent({ reason, requests, tokens }) {
      usage.add({ reason, provider: provider.id, model: provider.model, requests, tokens });
    },

    close: () => queries.close(),
  };
}

function waitUpTo(milliseconds: number): Patience {
  let leftMs = milliseconds;
  return {
    waitsForRate: true,
    take(wantedMs) {
      if (wantedMs > leftMs) return false;
      leftMs -= wantedMs;
      return true;
    },
  };
}

/** Waits. Throws the signal's reason when that comes first. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = (): void => reject(signal.reason);
  const timer = setTimeout(resolve, milliseconds);
  signal.addEventListener("abort", stop, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}
