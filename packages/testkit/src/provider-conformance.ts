import assert from "node:assert/strict";
import {
  type EmbeddingPlugin,
  type EmbeddingProvider,
  type RerankPlugin,
  type Reranker,
  isAbort,
  parseConfig,
} from "@memslot/core";
import data from "./data/provider-texts.json" with { type: "json" };
import { makeTempFolder, removeTempFolder } from "./helpers/temp-folder.ts";
import { cosine } from "./in-memory-store.ts";
import { type Check, type SuiteOptions, type TestRunner, registerSuite } from "./register-suite.ts";

/** All fields are read again for each check, so a getter may name a server that is started before the first one. */
interface ProviderOptions extends SuiteOptions {
  /** What a user writes in `plugins.entries.<id>.config`. */
  options?: Readonly<Record<string, unknown>> | undefined;
  /** Variables of the environment; none if left out. */
  env?: Readonly<Record<string, string>> | undefined;
}

export interface EmbeddingConformanceOptions extends ProviderOptions {
  /** Must open a provider that really answers. It is opened for each check, and closed after it. */
  plugin: EmbeddingPlugin;
  /** What a user writes in `memorySearch`, for example `model` and `remote`. */
  settings?: Readonly<Record<string, unknown>> | undefined;
}

export interface RerankConformanceOptions extends ProviderOptions {
  /** Must open a reranker that really answers. It is opened for each check, and closed after it. */
  plugin: RerankPlugin;
  /** What a user writes in `memorySearch.query.rerank`. */
  settings?: Readonly<Record<string, unknown>> | undefined;
}

/** Proves that an embedding plugin keeps its contract. Sends about two dozen short requests. */
export function embeddingConformance(runner: TestRunner, options: EmbeddingConformanceOptions): void {
  registerSuite(runner, {
    title: `embedding plugin ${options.plugin.id}`,
    checks: embeddingChecks,
    options,
    run: (check) =>
      withContext(options, { provider: options.plugin.id, ...options.settings }, async (context) => {
        const provider = await options.plugin.open(context);
        return await check.run(provider).finally(() => provider.close?.());
      }),
  });
}

/** Proves that a rerank plugin keeps its contract. Sends about two dozen short requests. */
export function rerankConformance(runner: TestRunner, options: RerankConformanceOptions): void {
  registerSuite(runner, {
    title: `rerank plugin ${options.plugin.id}`,
    checks: rerankChecks,
    options,
    run: (check) => {
      const rerank = { provider: options.plugin.id, ...options.settings };
      return withContext(options, { query: { rerank } }, async (context) => {
        const reranker = await options.plugin.open(context);
        return await check.run(reranker).finally(() => reranker.close?.());
      });
    },
  });
}

/** Gives what the host gives a plugin in this configuration, with a state folder of its own. */
async function withContext<Result>(
  { options = {}, env = {} }: ProviderOptions,
  memorySearch: Readonly<Record<string, unknown>>,
  work: (context: Parameters<EmbeddingPlugin["open"]>[0]) => Promise<Result>,
): Promise<Result> {
  const stateDir = await makeTempFolder("provider");
  try {
    const config = parseConfig({ agents: { defaults: { memorySearch } } }, { env, stateDir });
    return await work({
      settings: config.agent("main").memorySearch,
      providers: config.providers,
      environment: (name) => config.environment(name),
      stateDir,
      options,
      signal: new AbortController().signal,
    });
  } finally {
    await removeTempFolder(stateDir);
  }
}

// Each question asks for the text of the same index.
const { sentences, texts, questions } = data;

function assertFacts(names: Record<string, unknown>, limits: Record<string, number | undefined>): void {
  for (const [field, value] of Object.entries(names))
    assert.ok(typeof value === "string" && value.trim() !== "", `${field} is blank`);
  for (const [name, value] of Object.entries(limits))
    assert.ok(value === undefined || (Number.isInteger(value) && value > 0), `${name} is ${value}`);
}

/** Aborts calls at once. Each must be rejected with the abort, or answer, if it was faster. */
async function assertAborts(start: (signal: AbortSignal) => Promise<unknown>[]): Promise<void> {
  const controller = new AbortController();
  const calls = start(controller.signal);
  controller.abort();
  for (const outcome of await Promise.allSettled(calls))
    assert.ok(outcome.status === "fulfilled" || isAbort(outcome.reason), `aborting gave ${JSON.stringify(outcome)}`);
}

type Vector = ArrayLike<number> | undefined;

function similarity(left: Vector, right: Vector): number {
  assert.ok(left !== undefined && right !== undefined, "a vector is missing");
  assert.equal(left.length, right.length, "two vectors have different lengths");
  return cosine(left, right);
}

function assertSame(left: Vector, right: Vector, what: string): void {
  assert.ok(similarity(left, right) > 0.999, what);
}

const embeddingChecks: readonly Check<EmbeddingProvider>[] = [
  {
    id: "embedding.facts",
    promise: "id and model are named, and each stated limit is a positive whole number",
    async run({ id, model, dimensions, maxInputTokens, maxBatchItems, maxBatchTokens }) {
      assertFacts({ id, model }, { dimensions, maxInputTokens, maxBatchItems, maxBatchTokens });
      assert.ok((maxBatchTokens ?? Infinity) >= (maxInputTokens ?? 0), "a request cannot hold one text of full length");
    },
  },
  {
    id: "embedding.largest-batch",
    promise: "a batch of the largest stated size is answered",
    async run(provider) {
      // Some providers allow thousands; the first hundred show that the number is not made up.
      const size = Math.min(provider.maxBatchItems ?? 20, 100);
      const vectors = await provider.embedBatch(Array.from({ length: size }, (_, index) => `note number ${index}`));
      assert.equal(vectors.length, size);
    },
  },
  {
    id: "embedding.batch-order",
    promise: "a batch gives one vector for each text, in the order of the texts",
    async run(provider) {
      const straight = await provider.embedBatch(sentences);
      const turned = (await provider.embedBatch(sentences.toReversed())).toReversed();
      assert.equal(straight.length, sentences.length);
      for (const [index, text] of sentences.entries())
        assertSame(straight[index], turned[index], `the vector of "${text}" depends on its place in the batch`);
    },
  },
  {
    id: "embedding.empty-batch",
    promise: "an empty batch gives an empty list",
    run: async (provider) => assert.deepEqual([...(await provider.embedBatch([]))], []),
  },
  {
    id: "embedding.repeated-text",
    promise: "a text that is twice in a batch gets its vector twice",
    async run(provider) {
      const vectors = await provider.embedBatch(["twice", "once", "twice"]);
      assert.equal(vectors.length, 3);
      assertSame(vectors[0], vectors[2], "the two vectors differ");
    },
  },
  {
    id: "embedding.valid",
    promise: "all numbers are finite, not all are zero, and the length is the stated one",
    async run(provider) {
      const vectors = [...(await provider.embedBatch(sentences)), await provider.embedQuery("a question?")];
      for (const vector of vectors) {
        assert.equal(vector.length, provider.dimensions ?? vectors[0]?.length);
        const numbers = Array.from(vector);
        assert.ok(numbers.every(Number.isFinite), "a number is not finite");
        assert.ok(numbers.some(Boolean), "a vector is all zeros");
      }
    },
  },
  {
    id: "embedding.stable",
    promise: "the same text gives the same vector",
    async run(provider) {
      const [text = ""] = sentences;
      const both = [await provider.embedBatch([text]), await provider.embedBatch([text])];
      assertSame(both[0]?.[0], both[1]?.[0], "a text in a batch");
      assertSame(await provider.embedQuery(text), await provider.embedQuery(text), "a query");
    },
  },
  {
    id: "embedding.distinct",
    promise: "different texts give different vectors, and a question is nearest to the text that it quotes",
    async run(provider) {
      const vectors = await provider.embedBatch(sentences);
      for (const [index, text] of sentences.entries()) {
        for (const other of vectors.slice(index + 1))
          assert.ok(similarity(vectors[index], other) < 0.999, "two texts of different meaning have one vector");
        const query = await provider.embedQuery(text);
        const [nearest = -1] = byScore(vectors.map((vector) => similarity(query, vector)));
        assert.equal(nearest, index, `"${text}" is nearer to "${sentences[nearest]}" than to itself`);
      }
    },
  },
  {
    id: "embedding.abort-before",
    promise: "a call with an aborted signal is refused with AbortError",
    async run(provider) {
      const signal = AbortSignal.abort();
      await assert.rejects(provider.embedQuery("text", { signal }), isAbort);
      await assert.rejects(provider.embedBatch(["text"], { signal }), isAbort);
    },
  },
  {
    id: "embedding.abort-during",
    promise: "a call that is aborted later ends, and the provider goes on working",
    async run(provider) {
      await assertAborts((signal) => [
        provider.embedQuery("text", { signal }),
        provider.embedBatch(sentences, { signal }),
      ]);
      assert.equal((await provider.embedBatch(["after"])).length, 1);
    },
  },
  {
    id: "embedding.overlap",
    promise: "overlapping calls each get their own vectors",
    async run(provider) {
      const alone: ArrayLike<number>[] = [];
      for (const text of sentences) alone.push(...(await provider.embedBatch([text])));
      const together = await Promise.all(sentences.map((text) => provider.embedBatch([text])));
      for (const [index, vectors] of together.entries()) assertSame(vectors[0], alone[index], `call ${index + 1}`);
    },
  },
];

const [question = ""] = questions;
const never = new AbortController().signal;

async function scored(reranker: Reranker, query = question, given: readonly string[] = texts): Promise<number[]> {
  const scores = await reranker.rerank(query, given, { signal: never });
  assert.ok(Array.isArray(scores), "it gave no list");
  assert.equal(scores.length, given.length, `${scores.length} scores for ${given.length} texts`);
  assert.ok(scores.every(Number.isFinite), "a score is not a finite number");
  return [...scores];
}

/** The indexes of the texts, best first. */
function byScore(scores: readonly number[]): number[] {
  return [...scores.keys()].toSorted((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
}

const rerankChecks: readonly Check<Reranker>[] = [
  {
    id: "rerank.facts",
    promise: "id and model are named, and the stated limit is a positive whole number",
    run: async ({ id, model, maxInputTokens }) => assertFacts({ id, model }, { maxInputTokens }),
  },
  {
    id: "rerank.scores",
    promise: "each text gets one finite number; no text gets none, and one text alone gets one",
    async run(reranker) {
      for (const count of [0, 1, texts.length]) await scored(reranker, question, texts.slice(0, count));
    },
  },
  {
    id: "rerank.odd-texts",
    promise: "thirty texts are scored, some of them long, empty or of punctuation alone",
    async run(reranker) {
      const odd = ["", "…", "# \n\n", `${texts[0]} `.repeat(200), '"\\\u0000\ud83d\ude42', "明天上午去医院看病。"];
      const more = Array.from({ length: 30 - odd.length }, (_, index) => `note number ${index}`);
      await scored(reranker, question, [...odd, ...more]);
    },
  },
  {
    id: "rerank.in-order",
    promise: "scores are in the order of the texts",
    async run(reranker) {
      const turned = (await scored(reranker, question, texts.toReversed())).toReversed();
      assert.deepEqual(byScore(turned), byScore(await scored(reranker)), "turned around, the texts get other scores");
    },
  },
  {
    id: "rerank.best",
    promise: "the text that answers a question has the highest score",
    async run(reranker) {
      for (const [index, asked] of questions.entries()) {
        const [best = -1] = byScore(await scored(reranker, asked));
        assert.equal(best, index, `for "${asked}" it prefers "${texts[best]}"`);
      }
    },
  },
  {
    id: "rerank.repeated-text",
    promise: "a text that is given twice gets its score twice",
    async run(reranker) {
      const [text = "", other = ""] = texts;
      const [first = 0, , second = 1] = await scored(reranker, question, [text, other, text]);
      assert.ok(Math.abs(first - second) <= 1e-3 * Math.max(1, Math.abs(first)), `${first} and ${second}`);
    },
  },
  {
    id: "rerank.stable",
    promise: "the same call gives the same order",
    async run(reranker) {
      assert.deepEqual(byScore(await scored(reranker)), byScore(await scored(reranker)));
    },
  },
  {
    id: "rerank.input",
    promise: "the given texts are not changed",
    async run(reranker) {
      const given = [...texts];
      await scored(reranker, question, given);
      assert.deepEqual(given, texts);
      await scored(reranker, question, Object.freeze([...texts]));
    },
  },
  {
    id: "rerank.abort-before",
    promise: "a call with an aborted signal is refused with AbortError",
    async run(reranker) {
      await assert.rejects(async () => reranker.rerank(question, texts, { signal: AbortSignal.abort() }), isAbort);
    },
  },
  {
    id: "rerank.abort-during",
    promise: "a call that is aborted later ends, and the reranker goes on working",
    async run(reranker) {
      await assertAborts((signal) => [reranker.rerank(question, texts, { signal })]);
      await scored(reranker);
    },
  },
  {
    id: "rerank.overlap",
    promise: "overlapping calls each get their own scores",
    async run(reranker) {
      const alone: number[][] = [];
      for (const asked of questions) alone.push(await scored(reranker, asked));
      const together = await Promise.all(questions.map((asked) => scored(reranker, asked)));
      assert.deepEqual(together.map(byScore), alone.map(byScore));
    },
  },
  {
    id: "rerank.close",
    promise: "closing twice is closing once, and a call after it is refused",
    async run(reranker) {
      if (reranker.close === undefined) return "the reranker has no close";
      await scored(reranker);
      await reranker.close();
      await reranker.close();
      await assert.rejects(async () => reranker.rerank(question, texts, { signal: never }), "it answers after close");
      return undefined;
    },
  },
];
