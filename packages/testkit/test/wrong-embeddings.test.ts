import { describe, expect, test } from "vitest";
import type { EmbeddingProvider } from "@memslot/core";
import { deterministicEmbeddings, embeddingConformance } from "@memslot/testkit";
import { collectChecks, runByName } from "./collect-checks.ts";

type Spoil = (right: EmbeddingProvider) => Partial<EmbeddingProvider>;

const wrongProviders: readonly (readonly [fault: string, caughtBy: string, spoil: Spoil])[] = [
  [
    "answers in another order",
    "batch: one vector for each text, in the order of the texts",
    (right) => ({ embedBatch: async (texts) => right.embedBatch(texts.toSorted()) }),
  ],
  [
    "leaves out texts that it has seen in the batch",
    "batch: a text that stands twice gets its vector twice",
    (right) => ({ embedBatch: (texts) => right.embedBatch([...new Set(texts)]) }),
  ],
  [
    "fails on an empty list",
    "batch: an empty list gives an empty list",
    (right) => ({
      embedBatch: async (texts) => (texts.length === 0 ? Promise.reject(new Error("400")) : right.embedBatch(texts)),
    }),
  ],
  [
    "gives numbers that are none",
    "vectors: all numbers are finite, not all are zero, and the length is the one stated",
    () => ({ embedQuery: async () => [Number.NaN, 1] }),
  ],
  [
    "gives zeros",
    "vectors: all numbers are finite, not all are zero, and the length is the one stated",
    () => ({ embedQuery: async () => new Float32Array(256) }),
  ],
  [
    "states another length",
    "vectors: all numbers are finite, not all are zero, and the length is the one stated",
    () => ({ dimensions: 99 }),
  ],
  [
    "gives every text the same vector",
    "vectors: different texts give different vectors",
    () => ({ embedBatch: async (texts) => texts.map(() => [1, 2, 3]) }),
  ],
  [
    "gives a text another vector each time",
    "vectors: the same text gives the same vector",
    () => ({ embedBatch: async (texts) => texts.map(() => [Math.random(), Math.random() - 0.5, Math.random() - 0.5]) }),
  ],
  [
    "states a limit that makes no sense",
    "limits: each one that is stated is a positive whole number",
    () => ({ maxBatchItems: 0 }),
  ],
  [
    "states a batch limit that it does not keep",
    "limits: a batch of the largest stated size is answered",
    () => ({ maxBatchItems: 60 }),
  ],
  [
    "ignores the signal",
    "abort: a call that was aborted before it began is refused with AbortError",
    (right) => ({ embedQuery: (text) => right.embedQuery(text) }),
  ],
  [
    "turns an abort into another error",
    "abort: a call that is aborted on its way ends, and the provider goes on working",
    () => ({ embedQuery: async () => Promise.reject(new Error("socket hang up")) }),
  ],
  ["has no name", "identity: id and model are named", () => ({ model: " " })],
  [
    "mixes up calls that overlap",
    "parallel: calls that overlap each get their own vectors",
    (right) => {
      let latest: readonly string[] = [];
      return {
        async embedBatch(texts) {
          latest = texts;
          await Promise.resolve();
          return right.embedBatch(latest);
        },
      };
    },
  ],
  [
    "embeds questions in another space",
    "vectors: a question is nearest to the text that it quotes",
    (right) => ({ embedQuery: async (text) => Float32Array.from(await right.embedQuery(text)).toReversed() }),
  ],
];

describe("an embedding provider with one fault fails the check that is meant for it", () => {
  test.each(wrongProviders)("one that %s", async (_fault, caughtBy, spoil) => {
    const open = async (): Promise<EmbeddingProvider> => {
      const right = deterministicEmbeddings();
      return { ...right, ...spoil(right) };
    };
    const checks = collectChecks((runner) => embeddingConformance(runner, { open }));
    expect((await runByName(checks, caughtBy)).result).toBe("failed");
  });
});
