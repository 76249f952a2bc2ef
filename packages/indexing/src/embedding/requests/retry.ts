import {
  type EmbeddingCallOptions,
  EmbeddingError,
  type EmbeddingProvider,
  embeddingErrorOf,
  MemoryError,
  traceCall,
  withDeadline,
} from "@memslot/core";
import { estimateTokens } from "../../text/token-weight.ts";
import { type Budget, OverBudget } from "./budget.ts";
import type { Gate, Pace, Pass, Patience } from "./gate.ts";
import type { Usage } from "./usage.ts";

/** One request to a provider, sent again where that may help. */
interface Call<Answer, Result> {
  /** What is sent, for the count of tokens where the provider says none. */
  texts: readonly string[];
  reason: string;
  asked: boolean;
  signal: AbortSignal;
  /** Undefined: as much as it takes. */
  budget: Budget | undefined;
  /** For each attempt. */
  deadlineMs: number;
  /** How often it is sent at most when the failures are transient. */
  attempts: number;
  patience: Patience;
  onRetry: ((words: string) => void) | undefined;
  /** The name of the provider's method, for whoever looks inside. */
  operation: "embedQuery" | "embedBatch";
  send(options: EmbeddingCallOptions): Promise<Answer>;
  /** What is made of the answer. What it throws counts as a failure of the request. */
  read(answer: Answer): Result;
}

/** Makes a call. Throws an `EmbeddingError` when it is given up, `OverBudget`, or the signal's reason. */
export type Caller = <Answer, Result>(call: Call<Answer, Result>) => Promise<Result>;

const fewAttempts = 2;
const firstPauseMs = 500;
/** Of the pause, up or down. */
const jitter = 0.2;
/** The end of a call whose rate limit is said to be over each time. */
const mostRateLimits = 10;

export function createCaller(provider: EmbeddingProvider, gate: Gate, usage: Usage, { sleep, random }: Pace): Caller {
  async function sendOnce<Answer, Result>(call: Call<Answer, Result>, pass: Pass, sent: number): Promise<Result> {
    const { texts, reason, signal, deadlineMs, budget, operation } = call;
    signal.throwIfAborted();
    const estimate = Math.ceil(texts.reduce((sum, text) => sum + estimateTokens(text), 0));
    const entry = { reason, provider: provider.id, model: provider.model };
    const taken = budget?.take({ ...entry, tokens: estimate });
    const what = `the embedding provider ${provider.id}`;
    let said: number | undefined;
    let isSpent = false;
    const onUsage = ({ tokens }: { tokens: number }): void => {
      if (Number.isFinite(tokens) && tokens >= 0) said = (said ?? 0) + tokens;
    };
    try {
      const answer = await traceCall(
        "provider",
        () => ({ operation, provider: provider.id, model: provider.model, texts: texts.length, attempt: sent }),
        () => withDeadline({ what, deadlineMs, signals: [signal] }, (inner) => call.send({ signal: inner, onUsage })),
        () => (said === undefined ? {} : { tokens: said }),
      );
      isSpent = true;
      pass.answered();
      return call.read(answer);
    } catch (error) {
      // Where it was sent and no answer came, nobody knows. A budget is kept all the same.
      const isUnknown = signal.aborted || MemoryError.is(error, "UNAVAILABLE");
      isSpent ||= EmbeddingError.is(error) ? error.hasCost : taken !== undefined && isUnknown;
      throw error;
    } finally {
      const tokens = Math.ceil(said ?? (isSpent ? estimate : 0));
      if (taken) taken.settle(tokens);
      else usage.add({ ...entry, requests: 1, tokens });
    }
  }

  /** Milliseconds before the next attempt: half a second, doubled each time, or as long as the other side wants. */
  function pauseAfter(attempt: number, { retryAfterMs = 0 }: EmbeddingError): number {
    return Math.max(retryAfterMs, firstPauseMs * 2 ** (attempt - 1) * (1 - jitter + 2 * jitter * random()));
  }

  return async (call) => {
    const { signal, patience } = call;
    let pass: Pass | undefined;
    let attempt = 1;
    let rateLimits = 0;
    let sent = 0;
    try {
      for (;;) {
        pass ??= await gate.enter({ ...call, isBack: rateLimits > 0 });
        let failure: EmbeddingError;
        try {
          return await sendOnce(call, pass, ++sent);
        } catch (error) {
          signal.throwIfAborted();
          if (error instanceof OverBudget) throw error;
          failure = embeddingErrorOf(error, provider.id);
        }
        if (failure.kind === "rate" && ++rateLimits < mostRateLimits) {
          pass.failed(failure);
          // The gate knows when it is over, and refuses where that is too late.
          pass = undefined;
          continue;
        }
        const pauseMs = pauseAfter(attempt, failure);
        const most = attemptsFor(call, failure);
        if (failure.kind !== "transient" || attempt >= most || !patience.take(pauseMs)) {
          pass.failed(failure);
          throw failure;
        }
        attempt++;
        const waits = `waits ${(pauseMs / 1000).toFixed(1)} s`;
        call.onRetry?.(`attempt ${attempt} of ${most}, ${waits}; before: ${failure.message}`);
        if (!pass.isProbing()) {
          pass.failed(failure);
          pass = undefined;
        }
        await sleep(pauseMs, signal);
      }
    } finally {
      pass?.left();
    }
  };
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
