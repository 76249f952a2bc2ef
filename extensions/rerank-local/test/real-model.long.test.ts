import plugin from "@memslot/rerank-local";
import { rerankConformance } from "@memslot/testkit";
import { describe, expect, test } from "vitest";
import { open, tinyReranker } from "./support/open.ts";

const reason = "the weights of the tiny model are random: it understands nothing";

describe("a tiny GGUF through node-llama-cpp", () => {
  rerankConformance(
    { describe, test },
    {
      plugin,
      options: { threads: 1 },
      get settings() {
        return { modelPath: tinyReranker() };
      },
      deviations: [{ id: "rerank.best", reason }],
    },
  );

  test("scores are between 0 and 1 and depend on query and text", async () => {
    const reranker = await open(tinyReranker());
    const signal = new AbortController().signal;
    const scores = await reranker.rerank("cat", ["cat", "dog", "a house by the sea"], { signal });
    const others = await reranker.rerank("dog", ["cat", "dog", "a house by the sea"], { signal });
    for (const score of [...scores, ...others]) {
      expect(score).toBeGreaterThan(0);
      expect(score).toBeLessThan(1);
    }
    expect(new Set([...scores, ...others]).size).toBe(6);
  });
});
