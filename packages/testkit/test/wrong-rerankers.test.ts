import { describe, expect, test } from "vitest";
import type { Reranker } from "@memslot/core";
import { deterministicReranker, rerankConformance } from "@memslot/testkit";
import { collectChecks, runByName } from "./collect-checks.ts";

type Spoil = (right: Reranker) => Partial<Reranker>;

const oneEach = "scores: one finite number for each text";

const wrongRerankers: readonly (readonly [fault: string, caughtBy: string, spoil: Spoil])[] = [
  ["has no name", "identity: id and model are named", () => ({ model: " " })],
  [
    "states a limit that makes no sense",
    "limits: the one that is stated is a positive whole number",
    () => ({ maxInputTokens: 0 }),
  ],
  [
    "leaves out what it thinks little of",
    oneEach,
    (right) => ({
      rerank: async (query, texts, options) =>
        (await right.rerank(query, texts, options)).filter((score) => score > 0.9),
    }),
  ],
  ["gives numbers that are none", oneEach, () => ({ rerank: async (_, texts) => texts.map(() => Number.NaN) })],
  [
    "gives objects in place of numbers",
    oneEach,
    () => ({ rerank: async (_, texts) => texts.map((_, index) => ({ index, score: 1 })) as unknown as number[] }),
  ],
  [
    "gives the scores best first",
    "order: the score of a text stands at its place, wherever that is",
    (right) => ({
      rerank: async (query, texts, options) =>
        [...(await right.rerank(query, texts, options))].toSorted((a, b) => b - a),
    }),
  ],
  [
    "gives scores where lower is better",
    "order: the text that answers a question has the highest score",
    (right) => ({
      rerank: async (query, texts, options) => (await right.rerank(query, texts, options)).map((score) => -score),
    }),
  ],
  [
    "thinks the same of every text",
    "order: the text that answers a question has the highest score",
    () => ({ rerank: async (_, texts) => texts.map(() => 0.5) }),
  ],
  [
    "scores a text once that stands twice",
    "order: a text that stands twice gets its score twice",
    (right) => ({
      async rerank(query, texts, options) {
        const scores = await right.rerank(query, texts, options);
        return texts.map((text, index) => (texts.indexOf(text) === index ? (scores[index] ?? 0) : 0));
      },
    }),
  ],
  [
    "fails where there is no text",
    "scores: no text has no score",
    (right) => ({
      rerank: async (query, texts, options) =>
        texts.length === 0 ? Promise.reject(new Error("422")) : right.rerank(query, texts, options),
    }),
  ],
  [
    "wants two texts",
    "scores: one text alone has one",
    (right) => ({
      rerank: async (query, texts, options) =>
        texts.length < 2 ? Promise.reject(new Error("nothing to rank")) : right.rerank(query, texts, options),
    }),
  ],
  [
    "takes ten texts and no more",
    "scores: thirty texts, some of them long, empty or of signs alone, are answered",
    (right) => ({
      rerank: async (query, texts, options) => right.rerank(query, texts.slice(0, 10), options),
    }),
  ],
  [
    "refuses an empty text",
    "scores: thirty texts, some of them long, empty or of signs alone, are answered",
    (right) => ({
      rerank: async (query, texts, options) =>
        texts.includes("") ? Promise.reject(new Error("empty input")) : right.rerank(query, texts, options),
    }),
  ],
  [
    "ranks by chance",
    "repeat: the same call gives the same order",
    () => {
      let calls = 0;
      return {
        rerank: async (_, texts) => texts.map((_, index) => (calls++ === 0 || index > 0 ? index : 99) + (calls % 2)),
      };
    },
  ],
  [
    "sorts the texts that it is given",
    "input: the texts are not changed",
    (right) => ({
      async rerank(query, texts, options) {
        const scores = await right.rerank(query, texts, options);
        (texts as string[]).sort();
        return scores;
      },
    }),
  ],
  [
    "ignores the signal",
    "abort: a call that was aborted before it began is refused with AbortError",
    (right) => ({
      rerank: (query, texts) => right.rerank(query, texts, { signal: new AbortController().signal }),
    }),
  ],
  [
    "turns an abort into another error",
    "abort: a call that is aborted on its way ends, and the reranker goes on working",
    () => ({ rerank: async () => Promise.reject(new Error("socket hang up")) }),
  ],
  [
    "is of no use after an abort",
    "abort: a call that is aborted on its way ends, and the reranker goes on working",
    (right) => {
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
  ],
  [
    "mixes up calls that overlap",
    "parallel: calls that overlap each get their own scores",
    (right) => {
      let latest = "";
      return {
        async rerank(query, texts, options) {
          latest = query;
          await Promise.resolve();
          return right.rerank(latest, texts, options);
        },
      };
    },
  ],
  ["answers after close", "close: twice is as once, and a call after it is refused", () => ({ close: async () => {} })],
  [
    "cannot be closed twice",
    "close: twice is as once, and a call after it is refused",
    (right) => {
      let isClosed = false;
      return {
        async close() {
          if (isClosed) throw new Error("not open");
          isClosed = true;
          await right.close?.();
        },
      };
    },
  ],
];

describe("a reranker with one fault fails the check that is meant for it", () => {
  test.each(wrongRerankers)("one that %s", async (_fault, caughtBy, spoil) => {
    const open = async (): Promise<Reranker> => {
      const right = deterministicReranker();
      return { ...right, ...spoil(right) };
    };
    const checks = collectChecks((runner) => rerankConformance(runner, { open }));
    expect((await runByName(checks, caughtBy)).result).toBe("failed");
  });
});
