import type { EmbeddingProvider } from "@memslot/core";

export interface FakeEmbeddings extends EmbeddingProvider {
  /** The texts of each batch so far. */
  readonly sent: string[][];
  readonly queries: string[];
  readonly closed: boolean;
}

/**
 * Stands for a model: each of the words below gives a direction of its own, and words in one group are the same to it.
 * `fail` is asked before each call.
 */
export function fakeEmbeddings(
  options: {
    fail?: (what: "query" | "batch", call: number, texts: readonly string[]) => Error | undefined;
    answer?: (vectors: number[][]) => number[][];
    limits?: Pick<EmbeddingProvider, "dimensions" | "maxBatchItems" | "maxBatchTokens" | "maxInputTokens">;
  } = {},
): FakeEmbeddings {
  const groups = ["money budget 预算", "server machine", "cat kitten 猫", "travel trip journey"].map((group) =>
    group.split(" "),
  );
  const sent: string[][] = [];
  const queries: string[] = [];
  let closed = false;
  let call = 0;

  const vectorOf = (text: string): number[] => {
    const lower = text.toLowerCase();
    const vector = groups.map((group) => (group.some((word) => lower.includes(word)) ? 3 : 0));
    return [...vector, 1];
  };
  const enter = (what: "query" | "batch", texts: readonly string[], signal: AbortSignal | undefined): void => {
    signal?.throwIfAborted();
    const error = options.fail?.(what, ++call, texts);
    if (error) throw error;
  };

  return {
    id: "fake",
    model: "groups",
    ...options.limits,
    sent,
    queries,
    get closed() {
      return closed;
    },
    async embedQuery(text, { signal } = {}) {
      queries.push(text);
      enter("query", [text], signal);
      return vectorOf(text);
    },
    async embedBatch(texts, { signal } = {}) {
      sent.push([...texts]);
      enter("batch", texts, signal);
      const vectors = texts.map(vectorOf);
      return options.answer ? options.answer(vectors) : vectors;
    },
    async close() {
      closed = true;
    },
  };
}
