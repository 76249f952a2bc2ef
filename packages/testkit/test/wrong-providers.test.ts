import { describe, test } from "vitest";
import {
  deterministicEmbeddingPlugin,
  deterministicEmbeddings,
  deterministicRerankPlugin,
  deterministicReranker,
  embeddingConformance,
  rerankConformance,
} from "@memslot/testkit";
import { expectFailure } from "./collect-checks.ts";
import { faulty, rowsOf } from "./faulty.ts";
import faults from "./data/wrong-providers.json" with { type: "json" };

describe("a provider with one fault fails the check that is meant for it", () => {
  test.each(rowsOf(faults.embedding))("%s: one that %s", async (id, _, wrong) => {
    const plugin = { ...deterministicEmbeddingPlugin, open: async () => faulty(deterministicEmbeddings(), wrong) };
    await expectFailure((runner) => embeddingConformance(runner, { plugin }), id);
  });

  test.each(rowsOf(faults.rerank))("%s: one that %s", async (id, _, wrong) => {
    const plugin = { ...deterministicRerankPlugin, open: async () => faulty(deterministicReranker(), wrong) };
    await expectFailure((runner) => rerankConformance(runner, { plugin }), id);
  });

  test("rerank.input: one that sorts the given texts", async () => {
    const right = deterministicReranker();
    const open = async () => ({
      ...right,
      rerank: (...[query, texts, options]: Parameters<typeof right.rerank>) =>
        right.rerank(query, (texts as string[]).sort(), options),
    });
    const plugin = { ...deterministicRerankPlugin, open };
    await expectFailure((runner) => rerankConformance(runner, { plugin }), "rerank.input");
  });
});
