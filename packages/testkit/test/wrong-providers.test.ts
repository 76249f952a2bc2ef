import { describe, test } from "vitest";
import type { EmbeddingProvider, Reranker } from "@memslot/core";
import {
  deterministicEmbeddingPlugin,
  deterministicEmbeddings,
  deterministicRerankPlugin,
  deterministicReranker,
  embeddingConformance,
  rerankConformance,
} from "@memslot/testkit";
import { expectFailure } from "./collect-checks.ts";
import { changeAnswers, rowsOf, type Wrong } from "./wrong.ts";

type Spoil<Right> = (right: Right) => Partial<Right>;

const wrongProviders: Wrong<Spoil<EmbeddingProvider>> = {
  "embedding.batch-order": {
    "answers in another order": (right) => ({ embedBatch: async (texts) => right.embedBatch(texts.toSorted()) }),
  },
  "embedding.repeated-text": {
    "leaves out texts that it has seen in the batch": (right) => ({
      embedBatch: (texts) => right.embedBatch([...new Set(texts)]),
    }),
  },
  "embedding.empty-batch": {
    "fails on an empty list": (right) => ({
      embedBatch: async (texts) => (texts.length === 0 ? Promise.reject(new Error("400")) : right.embedBatch(texts)),
    }),
  },
  "embedding.valid": {
    "gives numbers that are none": () => ({ embedQuery: async () => [Number.NaN, 1] }),
    "gives zeros": () => ({ embedQuery: async () => new Float32Array(256) }),
    "states another length": () => ({ dimensions: 99 }),
  },
  "embedding.distinct": {
    "gives every text the same vector": () => ({ embedBatch: async (texts) => texts.map(() => [1, 2, 3]) }),
    "embeds questions in another space": (right) => ({
      embedQuery: async (text) => Float32Array.from(await right.embedQuery(text)).toReversed(),
    }),
  },
  "embedding.stable": {
    "gives a text another vector each time": () => ({
      embedBatch: async (texts) => texts.map(() => [Math.random(), Math.random() - 0.5, Math.random() - 0.5]),
    }),
  },
  "embedding.facts": {
    "states a limit that makes no sense": () => ({ maxBatchItems: 0 }),
    "has no name": () => ({ model: " " }),
  },
  "embedding.largest-batch": {
    "states a batch limit that it does not keep": () => ({ maxBatchItems: 60 }),
  },
  "embedding.abort-before": {
    "ignores the signal": (right) => ({ embedQuery: (text) => right.embedQuery(text) }),
  },
  "embedding.abort-during": {
    "turns an abort into another error": () => ({
      embedQuery: async () => Promise.reject(new Error("socket hang up")),
    }),
  },
  "embedding.overlap": {
    "mixes up calls that overlap": (right) => {
      let latest: readonly string[] = [];
      return {
        async embedBatch(texts) {
          latest = texts;
          await Promise.resolve();
          return right.embedBatch(latest);
        },
      };
    },
  },
};

const wrongRerankers: Wrong<Spoil<Reranker>> = {
  "rerank.facts": {
    "has no name": () => ({ model: " " }),
    "states a limit that makes no sense": () => ({ maxInputTokens: 0 }),
  },
  "rerank.scores": {
    "leaves out what it thinks little of": (right) =>
      changeAnswers(right, { rerank: (scores) => scores.filter((score) => score > 0.9) }),
    "gives numbers that are none": () => ({ rerank: async (_, texts) => texts.map(() => Number.NaN) }),
    "gives objects in place of numbers": () => ({
      rerank: async (_, texts) => texts.map((_, index) => ({ index, score: 1 })) as unknown as number[],
    }),
    "fails where there is no text": (right) => ({
      rerank: async (query, texts, options) =>
        texts.length === 0 ? Promise.reject(new Error("422")) : right.rerank(query, texts, options),
    }),
    "wants two texts": (right) => ({
      rerank: async (query, texts, options) =>
        texts.length < 2 ? Promise.reject(new Error("nothing to rank")) : right.rerank(query, texts, options),
    }),
  },
  "rerank.in-order": {
    "gives the scores best first": (right) =>
      changeAnswers(right, { rerank: (scores) => scores.toSorted((a, b) => b - a) }),
  },
  "rerank.best": {
    "gives scores where lower is better": (right) =>
      changeAnswers(right, { rerank: (scores) => scores.map((score) => -score) }),
    "thinks the same of every text": () => ({ rerank: async (_, texts) => texts.map(() => 0.5) }),
  },
  "rerank.repeated-text": {
    "scores a text once that stands twice": (right) =>
      changeAnswers(right, {
        rerank: (scores, _query, texts) =>
          scores.map((score, index) => (texts.indexOf(texts[index] ?? "") === index ? score : 0)),
      }),
  },
  "rerank.odd-texts": {
    "takes ten texts and no more": (right) => ({
      rerank: async (query, texts, options) => right.rerank(query, texts.slice(0, 10), options),
    }),
    "refuses an empty text": (right) => ({
      rerank: async (query, texts, options) =>
        texts.includes("") ? Promise.reject(new Error("empty input")) : right.rerank(query, texts, options),
    }),
  },
  "rerank.stable": {
    "ranks by chance": () => {
      let calls = 0;
      return {
        rerank: async (_, texts) => texts.map((_, index) => (calls++ === 0 || index > 0 ? index : 99) + (calls % 2)),
      };
    },
  },
  "rerank.input": {
    "sorts the texts that it is given": (right) =>
      changeAnswers(right, {
        rerank(scores, _query, texts) {
          (texts as string[]).sort();
          return scores;
        },
      }),
  },
  "rerank.abort-before": {
    "ignores the signal": (right) => ({
      rerank: (query, texts) => right.rerank(query, texts, { signal: new AbortController().signal }),
    }),
  },
  "rerank.abort-during": {
    "turns an abort into another error": () => ({ rerank: async () => Promise.reject(new Error("socket hang up")) }),
    "is of no use after an abort": (right) => {
      let isBroken = false;
      return {
        async rerank(query, texts, options) {
          options.signal.addEventListener("abort", () => (isBroken = true));
          await new Promise((resolve) => setImmediate(resolve));
          if (isBroken) throw options.signal.aborted ? options.signal.reason : new Error("the socket is gone");
          return right.rerank(query, texts, options);
        },
      };
    },
  },
  "rerank.overlap": {
    "mixes up calls that overlap": (right) => {
      let latest = "";
      return {
        async rerank(query, texts, options) {
          latest = query;
          await Promise.resolve();
          return right.rerank(latest, texts, options);
        },
      };
    },
  },
  "rerank.close": {
    "answers after close": () => ({ close: async () => {} }),
    "cannot be closed twice": (right) => {
      let isClosed = false;
      return {
        async close() {
          if (isClosed) throw new Error("not open");
          isClosed = true;
          await right.close?.();
        },
      };
    },
  },
};

describe("an embedding provider with one fault fails the check that is meant for it", () => {
  test.each(rowsOf(wrongProviders))("one that %s", async (_fault, caughtBy, spoil) => {
    const open = async (): Promise<EmbeddingProvider> => {
      const right = deterministicEmbeddings();
      return { ...right, ...spoil(right) };
    };
    const plugin = { ...deterministicEmbeddingPlugin, open };
    await expectFailure((runner) => embeddingConformance(runner, { plugin }), caughtBy);
  });
});

describe("a reranker with one fault fails the check that is meant for it", () => {
  test.each(rowsOf(wrongRerankers))("one that %s", async (_fault, caughtBy, spoil) => {
    const open = async (): Promise<Reranker> => {
      const right = deterministicReranker();
      return { ...right, ...spoil(right) };
    };
    const plugin = { ...deterministicRerankPlugin, open };
    await expectFailure((runner) => rerankConformance(runner, { plugin }), caughtBy);
  });
});
