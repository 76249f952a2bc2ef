import { describe, expect, test } from "vitest";
import type { EmbeddingProvider, Reranker } from "@memslot/core";
import {
  deterministicEmbeddings,
  deterministicReranker,
  embeddingConformance,
  rerankConformance,
  type TestRunner,
} from "@memslot/testkit";
import { collectChecks, runByName } from "./collect-checks.ts";
import { changeAnswers, rowsOf, type Wrong } from "./wrong.ts";

type Spoil<Right> = (right: Right) => Partial<Right>;

const wrongProviders: Wrong<Spoil<EmbeddingProvider>> = {
  "batch: one vector for each text, in the order of the texts": {
    "answers in another order": (right) => ({ embedBatch: async (texts) => right.embedBatch(texts.toSorted()) }),
  },
  "batch: a text that stands twice gets its vector twice": {
    "leaves out texts that it has seen in the batch": (right) => ({
      embedBatch: (texts) => right.embedBatch([...new Set(texts)]),
    }),
  },
  "batch: an empty list gives an empty list": {
    "fails on an empty list": (right) => ({
      embedBatch: async (texts) => (texts.length === 0 ? Promise.reject(new Error("400")) : right.embedBatch(texts)),
    }),
  },
  "vectors: all numbers are finite, not all are zero, and the length is the one stated": {
    "gives numbers that are none": () => ({ embedQuery: async () => [Number.NaN, 1] }),
    "gives zeros": () => ({ embedQuery: async () => new Float32Array(256) }),
    "states another length": () => ({ dimensions: 99 }),
  },
  "vectors: different texts give different vectors": {
    "gives every text the same vector": () => ({ embedBatch: async (texts) => texts.map(() => [1, 2, 3]) }),
  },
  "vectors: the same text gives the same vector": {
    "gives a text another vector each time": () => ({
      embedBatch: async (texts) => texts.map(() => [Math.random(), Math.random() - 0.5, Math.random() - 0.5]),
    }),
  },
  "limits: each one that is stated is a positive whole number": {
    "states a limit that makes no sense": () => ({ maxBatchItems: 0 }),
  },
  "limits: a batch of the largest stated size is answered": {
    "states a batch limit that it does not keep": () => ({ maxBatchItems: 60 }),
  },
  "abort: a call that was aborted before it began is refused with AbortError": {
    "ignores the signal": (right) => ({ embedQuery: (text) => right.embedQuery(text) }),
  },
  "abort: a call that is aborted on its way ends, and the provider goes on working": {
    "turns an abort into another error": () => ({
      embedQuery: async () => Promise.reject(new Error("socket hang up")),
    }),
  },
  "identity: id and model are named": {
    "has no name": () => ({ model: " " }),
  },
  "parallel: calls that overlap each get their own vectors": {
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
  "vectors: a question is nearest to the text that it quotes": {
    "embeds questions in another space": (right) => ({
      embedQuery: async (text) => Float32Array.from(await right.embedQuery(text)).toReversed(),
    }),
  },
};

const wrongRerankers: Wrong<Spoil<Reranker>> = {
  "identity: id and model are named": {
    "has no name": () => ({ model: " " }),
  },
  "limits: the one that is stated is a positive whole number": {
    "states a limit that makes no sense": () => ({ maxInputTokens: 0 }),
  },
  "scores: one finite number for each text": {
    "leaves out what it thinks little of": (right) =>
      changeAnswers(right, { rerank: (scores) => scores.filter((score) => score > 0.9) }),
    "gives numbers that are none": () => ({ rerank: async (_, texts) => texts.map(() => Number.NaN) }),
    "gives objects in place of numbers": () => ({
      rerank: async (_, texts) => texts.map((_, index) => ({ index, score: 1 })) as unknown as number[],
    }),
  },
  "order: the score of a text stands at its place, wherever that is": {
    "gives the scores best first": (right) =>
      changeAnswers(right, { rerank: (scores) => scores.toSorted((a, b) => b - a) }),
  },
  "order: the text that answers a question has the highest score": {
    "gives scores where lower is better": (right) =>
      changeAnswers(right, { rerank: (scores) => scores.map((score) => -score) }),
    "thinks the same of every text": () => ({ rerank: async (_, texts) => texts.map(() => 0.5) }),
  },
  "order: a text that stands twice gets its score twice": {
    "scores a text once that stands twice": (right) =>
      changeAnswers(right, {
        rerank: (scores, _query, texts) =>
          scores.map((score, index) => (texts.indexOf(texts[index] ?? "") === index ? score : 0)),
      }),
  },
  "scores: no text has no score": {
    "fails where there is no text": (right) => ({
      rerank: async (query, texts, options) =>
        texts.length === 0 ? Promise.reject(new Error("422")) : right.rerank(query, texts, options),
    }),
  },
  "scores: one text alone has one": {
    "wants two texts": (right) => ({
      rerank: async (query, texts, options) =>
        texts.length < 2 ? Promise.reject(new Error("nothing to rank")) : right.rerank(query, texts, options),
    }),
  },
  "scores: thirty texts, some of them long, empty or of signs alone, are answered": {
    "takes ten texts and no more": (right) => ({
      rerank: async (query, texts, options) => right.rerank(query, texts.slice(0, 10), options),
    }),
    "refuses an empty text": (right) => ({
      rerank: async (query, texts, options) =>
        texts.includes("") ? Promise.reject(new Error("empty input")) : right.rerank(query, texts, options),
    }),
  },
  "repeat: the same call gives the same order": {
    "ranks by chance": () => {
      let calls = 0;
      return {
        rerank: async (_, texts) => texts.map((_, index) => (calls++ === 0 || index > 0 ? index : 99) + (calls % 2)),
      };
    },
  },
  "input: the texts are not changed": {
    "sorts the texts that it is given": (right) =>
      changeAnswers(right, {
        rerank(scores, _query, texts) {
          (texts as string[]).sort();
          return scores;
        },
      }),
  },
  "abort: a call that was aborted before it began is refused with AbortError": {
    "ignores the signal": (right) => ({
      rerank: (query, texts) => right.rerank(query, texts, { signal: new AbortController().signal }),
    }),
  },
  "abort: a call that is aborted on its way ends, and the reranker goes on working": {
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
  "parallel: calls that overlap each get their own scores": {
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
  "close: twice is as once, and a call after it is refused": {
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

/** Each wrong one fails the check that is meant for it. */
function eachFails<Right extends object>(
  table: Wrong<Spoil<Right>>,
  openRight: () => Right,
  conformance: (runner: TestRunner, options: { open(): Promise<Right> }) => void,
): void {
  test.each(rowsOf(table))("one that %s", async (_fault, caughtBy, spoil) => {
    const open = async (): Promise<Right> => {
      const right = openRight();
      return { ...right, ...spoil(right) };
    };
    const checks = collectChecks((runner) => conformance(runner, { open }));
    expect((await runByName(checks, caughtBy)).result).toBe("failed");
  });
}

describe("an embedding provider with one fault fails the check that is meant for it", () => {
  eachFails<EmbeddingProvider>(wrongProviders, deterministicEmbeddings, embeddingConformance);
});

describe("a reranker with one fault fails the check that is meant for it", () => {
  eachFails<Reranker>(wrongRerankers, deterministicReranker, rerankConformance);
});
