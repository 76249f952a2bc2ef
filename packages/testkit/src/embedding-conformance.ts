import assert from "node:assert/strict";
import { type EmbeddingProvider, isAbort } from "@memslot/core";
import { cosine } from "./helpers/cosine.ts";
import { type Check, type Deviation, type TestRunner, registerSuite } from "./runner.ts";

export interface EmbeddingConformanceOptions {
  /** Opens a provider that really answers. Called once for each check; closed after it. */
  open(): Promise<EmbeddingProvider>;
  /** Checks that are known to fail, each with the reason. */
  deviations?: readonly Deviation[] | undefined;
}

/** Proves that an embedding provider keeps its contract. Some two dozen short requests. */
export function embeddingConformance(runner: TestRunner, options: EmbeddingConformanceOptions): void {
  registerSuite(runner, {
    title: "embedding provider",
    checks,
    deviations: options.deviations,
    async run(check) {
      const provider = await options.open();
      try {
        await check.run(provider);
      } finally {
        await provider.close?.();
      }
      return undefined;
    },
  });
}

const sentences: readonly string[] = [
  "The backup runs every night at three.",
  "My sister's cat is called Juniper.",
  "明天上午去医院看病。",
  'const answer = compute({ id: "QX-7919" }); // 🙂',
];

const checks: readonly Check<EmbeddingProvider>[] = [
  {
    name: "identity: id and model are named",
    async run({ id, model }) {
      assert.ok(typeof id === "string" && id.trim() !== "", "id is blank");
      assert.ok(typeof model === "string" && model.trim() !== "", "model is blank");
    },
  },
  {
    name: "limits: each one that is stated is a positive whole number",
    async run({ dimensions, maxInputTokens, maxBatchItems, maxBatchTokens }) {
      for (const [name, value] of Object.entries({ dimensions, maxInputTokens, maxBatchItems, maxBatchTokens })) {
        assert.ok(value === undefined || (Number.isInteger(value) && value > 0), `${name} is ${value}`);
      }
      assert.ok(
        (maxBatchTokens ?? Infinity) >= (maxInputTokens ?? 0),
        "a request could not hold one text of the longest kind",
      );
    },
  },
  {
    name: "limits: a batch of the largest stated size is answered",
    async run(provider) {
      // Some providers allow thousands; the first hundred show that the number is not made up.
      const size = Math.min(provider.maxBatchItems ?? 20, 100);
      const vectors = await provider.embedBatch(Array.from({ length: size }, (_, index) => `note number ${index}`));
      assert.equal(vectors.length, size);
    },
  },
  {
    name: "batch: one vector for each text, in the order of the texts",
    async run(provider) {
      const straight = await provider.embedBatch(sentences);
      const turned = (await provider.embedBatch(sentences.toReversed())).toReversed();
      assert.equal(straight.length, sentences.length);
      for (const [index, text] of sentences.entries()) {
        assert.ok(
          similarity(straight[index], turned[index]) > 0.999,
          `the vector of "${text}" depends on its place in the batch`,
        );
      }
    },
  },
  {
    name: "batch: an empty list gives an empty list",
    async run(provider) {
      assert.deepEqual([...(await provider.embedBatch([]))], []);
    },
  },
  {
    name: "batch: a text that stands twice gets its vector twice",
    async run(provider) {
      const vectors = await provider.embedBatch(["twice", "once", "twice"]);
      assert.equal(vectors.length, 3);
      assert.ok(similarity(vectors[0], vectors[2]) > 0.999);
    },
  },
  {
    name: "vectors: all numbers are finite, not all are zero, and the length is the one stated",
    async run(provider) {
      const vectors = [...(await provider.embedBatch(sentences)), await provider.embedQuery("a question?")];
      const length = provider.dimensions ?? vectors[0]?.length;
      for (const vector of vectors) {
        assert.equal(vector.length, length);
        const numbers = Array.from(vector);
        assert.ok(
          numbers.every((value) => Number.isFinite(value)),
          "a number is not finite",
        );
        assert.ok(
          numbers.some((value) => value !== 0),
          "a vector is all zeros",
        );
      }
    },
  },
  {
    name: "vectors: the same text gives the same vector",
    async run(provider) {
      const [text = ""] = sentences;
      const [first] = await provider.embedBatch([text]);
      const [second] = await provider.embedBatch([text]);
      assert.ok(similarity(first, second) > 0.999);
      assert.ok(similarity(await provider.embedQuery(text), await provider.embedQuery(text)) > 0.999);
    },
  },
  {
    name: "vectors: different texts give different vectors",
    async run(provider) {
      const vectors = await provider.embedBatch(sentences);
      for (const [index, vector] of vectors.entries()) {
        for (const other of vectors.slice(index + 1))
          assert.ok(similarity(vector, other) < 0.999, "two texts of different meaning have one vector");
      }
    },
  },
  {
    name: "vectors: a question is nearest to the text that it quotes",
    async run(provider) {
      const vectors = await provider.embedBatch(sentences);
      for (const [index, text] of sentences.entries()) {
        const query = await provider.embedQuery(text);
        const nearest = vectors
          .map((vector) => similarity(query, vector))
          .reduce((best, score, at, all) => (score > (all[best] ?? -2) ? at : best), 0);
        assert.equal(nearest, index, `"${text}" is nearer to "${sentences[nearest]}" than to itself`);
      }
    },
  },
  {
    name: "abort: a call that was aborted before it began is refused with AbortError",
    async run(provider) {
      const signal = AbortSignal.abort();
      await assert.rejects(provider.embedQuery("text", { signal }), isAbort);
      await assert.rejects(provider.embedBatch(["text"], { signal }), isAbort);
    },
  },
  {
    name: "abort: a call that is aborted on its way ends, and the provider goes on working",
    async run(provider) {
      const controller = new AbortController();
      const calls = [
        provider.embedQuery("text", { signal: controller.signal }),
        provider.embedBatch(sentences, { signal: controller.signal }),
      ];
      controller.abort();
      for (const outcome of await Promise.allSettled<unknown>(calls)) {
        // It may have been faster than the abort.
        if (outcome.status === "rejected")
          assert.ok(isAbort(outcome.reason), `aborting gave ${String(outcome.reason)}`);
      }
      assert.equal((await provider.embedBatch(["after"])).length, 1);
    },
  },
  {
    name: "parallel: calls that overlap each get their own vectors",
    async run(provider) {
      const alone: ArrayLike<number>[] = [];
      for (const text of sentences) alone.push(...(await provider.embedBatch([text])));
      const together = await Promise.all(sentences.map((text) => provider.embedBatch([text])));
      for (const [index, vectors] of together.entries()) assert.ok(similarity(vectors[0], alone[index]) > 0.999);
    },
  },
];

function similarity(left: ArrayLike<number> | undefined, right: ArrayLike<number> | undefined): number {
  assert.ok(left !== undefined && right !== undefined, "a vector is missing");
  assert.equal(left.length, right.length, "two vectors have different lengths");
  return cosine(left, right);
}
