import { createHash } from "node:crypto";
import {
  createRest,
  EmbeddingError,
  isAbort,
  MemoryError,
  messageOf,
  type Rest,
  type Reranker,
  withDeadline,
} from "@memslot/core";

/** Answers that are kept: a question that is asked again about the same texts is not sent again. */
const keptAnswers = 256;
/** How long a reranker is left alone, in milliseconds, after a failure that another try would meet again. */
const restMs = { transient: 5000, rate: 15_000, input: 0, auth: 60_000, quota: 60_000 } as const;

/** What came of one call. */
type RerankAnswer = { scores: readonly number[]; cached: boolean } | { failure: string };

export interface RerankCalls {
  /** Ends within `timeoutMs`, whatever the reranker does. Throws for an abort alone. */
  ask(query: string, texts: readonly string[], signal: AbortSignal): Promise<RerankAnswer>;
}

/** Asks a reranker as the host asks it: once for the same question and texts, in time, checked, and not while it rests. */
export function createRerankCalls(input: {
  reranker: Reranker;
  timeoutMs: number;
  /** A clock that never goes back, in milliseconds. */
  now?: (() => number) | undefined;
}): RerankCalls {
  const { reranker, timeoutMs } = input;
  const what = `the reranker "${reranker.id}"`;
  const rest: Rest<string> = createRest(input.now);
  /** The one that was asked for last is the last. */
  const recent = new Map<string, readonly number[]>();

  function keep(key: string, scores: readonly number[]): void {
    recent.delete(key);
    recent.set(key, scores);
    const [oldest] = recent.keys();
    if (recent.size > keptAnswers && oldest !== undefined) recent.delete(oldest);
  }

  /** One more try where the first has failed by chance. */
  async function askTwice(query: string, texts: readonly string[], signal: AbortSignal): Promise<readonly number[]> {
    const once = async (): Promise<readonly number[]> => checked(await reranker.rerank(query, texts, { signal }));
    try {
      return await once();
    } catch (error) {
      if (signal.aborted || !EmbeddingError.is(error, "transient")) throw error;
      return await once();
    }
    function checked(scores: readonly number[]): readonly number[] {
      const problem = problemOf(scores, texts.length);
      if (problem !== undefined) throw new MemoryError("PLUGIN", `${what} broke its contract: ${problem}`);
      return Array.from(scores);
    }
  }

  return {
    async ask(query, texts, signal) {
      signal.throwIfAborted();
      const key = keyOf(reranker.model, query, texts);
      const known = recent.get(key);
      if (known !== undefined) {
        keep(key, known);
        return { scores: known, cached: true };
      }
      const resting = rest.current();
      if (resting !== undefined) {
        const seconds = Math.ceil(resting.remainingMs / 1000);
        return { failure: `${resting.failure}; it is left alone for ${seconds} s` };
      }
      try {
        const limits = { what, deadlineMs: timeoutMs, signals: [signal] };
        const scores = await withDeadline(limits, (inner) => askTwice(query, Object.freeze([...texts]), inner));
        keep(key, scores);
        return { scores, cached: false };
      } catch (error) {
        if (signal.aborted) throw error;
        const failure = isAbort(error) ? `${what} ended the request` : messageOf(error);
        const kind = EmbeddingError.is(error) ? error.kind : "transient";
        const asked = EmbeddingError.is(error) ? error.retryAfterMs : undefined;
        const forMs = asked ?? restMs[kind];
        if (forMs > 0) rest.start(failure, forMs);
        return { failure };
      }
    },
  };
}

function problemOf(scores: unknown, count: number): string | undefined {
  if (!Array.isArray(scores)) return "it gave no list of scores";
  if (scores.length !== count) return `it gave ${scores.length} scores for ${count} texts`;
  return scores.every((score) => Number.isFinite(score)) ? undefined : "a score is no finite number";
}

function keyOf(model: string, query: string, texts: readonly string[]): string {
  return createHash("sha256")
    .update(JSON.stringify([model, query, texts]))
    .digest("base64");
}
