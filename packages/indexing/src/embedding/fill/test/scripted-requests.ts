import { createHash } from "node:crypto";
import { ProviderError, type EmbeddingProvider } from "@memslot/core";
import { expect } from "vitest";
import { estimateTokens } from "../../../text/split-by-tokens.ts";
import { type FillOptions, type FillOutcome, fillSpace } from "../fill-missing-vectors.ts";
import { never } from "../../../../test/support/context.ts";
import { hashOf, space, type SpaceStore } from "../../../../test/support/space-store.ts";
import type { CircuitState } from "../../requests/circuit-breaker.ts";
import type { EmbedOptions, Requests } from "../../requests/requests.ts";
import { OverBudget } from "../../requests/usage.ts";

export interface ScriptedRequests extends Requests {
  /** The texts of every request so far, refused ones included. */
  readonly sent: string[][];
  /** Those of the requests that got their vectors. */
  readonly passed: string[][];
  readonly mostInFlight: number;
  readonly usage: { reason: string; requests: number; tokens: number }[];
  /** What the circuit learnt. */
  readonly failures: ProviderError[];
  open: CircuitState | undefined;
}

/**
 * Requests whose outcome the test decides: `answer` is asked for each, and may wait or throw. Undefined: each text gets
 * the vector of `vectorOf`.
 */
export function scriptedRequests(
  change: {
    provider?: Partial<EmbeddingProvider>;
    answer?: (sent: readonly string[], call: number, signal: AbortSignal) => unknown;
    vectorOf?: (text: string) => Float32Array;
  } = {},
): ScriptedRequests {
  const { answer, vectorOf: vector = vectorOf } = change;
  const none = (): never => {
    throw new Error("a request that was not expected");
  };
  const failed: ProviderError[] = [];
  let inFlight = 0;
  let mostInFlight = 0;
  const requests: ScriptedRequests = {
    provider: { id: "scripted", model: "m1", embedQuery: none, embedBatch: none, ...change.provider },
    sent: [],
    passed: [],
    usage: [],
    failures: failed,
    open: undefined,
    get mostInFlight() {
      return mostInFlight;
    },
    async embed(sent, { signal, budget, reason }) {
      const tokens = sent.reduce((sum, text) => sum + estimateTokens(text), 0);
      budget?.reserve({ reason, provider: "scripted", model: "m1", requests: 0, tokens });
      requests.sent.push([...sent]);
      mostInFlight = Math.max(mostInFlight, ++inFlight);
      try {
        await answer?.(sent, requests.sent.length, signal);
        signal.throwIfAborted();
      } finally {
        inFlight--;
      }
      requests.passed.push([...sent]);
      return sent.map(vector);
    },
    spent: (usage) => void requests.usage.push(usage),
    circuit: {
      state: () => requests.open,
      enter: () =>
        requests.open === undefined
          ? { isProbing: () => false, end: (outcome) => void (ProviderError.is(outcome) && failed.push(outcome)) }
          : undefined,
    },
  };
  return requests;
}

/** A vector of length 4 for each text. */
export function vectorOf(text: string): Float32Array {
  const bytes = createHash("sha256").update(text).digest();
  const values = [0, 4, 8, 12].map((at) => bytes.readInt32LE(at) / 2 ** 31);
  const length = Math.hypot(...values);
  return Float32Array.from(values, (value) => value / length);
}

/** Resolves after so many milliseconds, or throws the signal's reason. */
export async function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** A fill with four requests at one time, no budget and no batch interface, if the test does not say otherwise. */
export async function fillWith(
  store: SpaceStore,
  requests: FillOptions["requests"],
  change: Partial<FillOptions> = {},
): Promise<FillOutcome | undefined> {
  return await fillSpace({
    store,
    space,
    requests,
    concurrency: 4,
    batch: undefined,
    reason: "test",
    asked: false,
    signal: never,
    progress: () => undefined,
    ...change,
  });
}

export const budgetSpent = "the token budget of today is spent";

/** A budget of so many tokens; `left` excludes what was spent elsewhere. */
export function budgetOf(left: () => number): NonNullable<EmbedOptions["budget"]> & { reserved: number } {
  const budget = {
    reserved: 0,
    left: () => left() - budget.reserved,
    reserve({ tokens }: { tokens: number }) {
      if (tokens > budget.left()) throw new OverBudget(budgetSpent);
      budget.reserved += tokens;
      return "2026-03-05";
    },
    reason: () => ({ reason: budgetSpent }),
  };
  return budget;
}

/** The store holds the vectors of these texts, each its own, and no others. */
export function expectFilled({ vectors }: Pick<SpaceStore, "vectors">, expected: readonly string[]): void {
  expect([...vectors.keys()].toSorted()).toEqual(expected.map((text) => hashOf(text)).toSorted());
  // Scaling a vector again may change its last digit.
  const rounded = (vector: Float32Array | undefined): string[] => Array.from(vector ?? [], (value) => value.toFixed(5));
  for (const text of expected) expect(rounded(vectors.get(hashOf(text)))).toEqual(rounded(vectorOf(text)));
}
