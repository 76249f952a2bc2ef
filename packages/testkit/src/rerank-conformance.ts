import assert from "node:assert/strict";
import { type Reranker, isAbort } from "@memslot/core";
import { type Check, type Deviation, type TestRunner, registerSuite } from "./runner.ts";

export interface RerankConformanceOptions {
  /** Opens a reranker that really answers. Called once for each check; closed after it. */
  open(): Promise<Reranker>;
  /** Checks that are known to fail, each with the reason. */
  deviations?: readonly Deviation[] | undefined;
}

/** Proves that a reranker keeps its contract. Some two dozen short requests. */
export function rerankConformance(runner: TestRunner, options: RerankConformanceOptions): void {
  registerSuite(runner, {
    title: "reranker",
    checks,
    deviations: options.deviations,
    async run(check) {
      const reranker = await options.open();
      try {
        await check.run(reranker);
      } finally {
        await reranker.close?.();
      }
      return undefined;
    },
  });
}

const texts: readonly string[] = [
  "The backup runs every night at three.",
  "My sister's cat is called Juniper.",
  "The bicycle needs new brakes before the trip.",
  "Invoice 4711 was paid in March.",
];
/** Each asks for the text of its place. */
const questions: readonly string[] = [
  "when does the backup run every night",
  "what is the cat of my sister called",
  "new brakes for the bicycle before the trip",
  "was invoice 4711 paid in March",
];

const never = new AbortController().signal;
const [question = ""] = questions;

const checks: readonly Check<Reranker>[] = [
  {
    name: "identity: id and model are named",
    async run({ id, model }) {
      assert.ok(typeof id === "string" && id.trim() !== "", "id is blank");
      assert.ok(typeof model === "string" && model.trim() !== "", "model is blank");
    },
  },
  {
    name: "limits: the one that is stated is a positive whole number",
    async run({ maxInputTokens }) {
      assert.ok(maxInputTokens === undefined || (Number.isInteger(maxInputTokens) && maxInputTokens > 0));
    },
  },
  {
    name: "scores: one finite number for each text",
    async run(reranker) {
      await scored(reranker, question, texts);
    },
  },
  {
    name: "scores: no text has no score",
    async run(reranker) {
      assert.equal((await reranker.rerank(question, [], { signal: never })).length, 0);
    },
  },
  {
    name: "scores: one text alone has one",
    async run(reranker) {
      await scored(reranker, question, texts.slice(0, 1));
    },
  },
  {
    name: "scores: thirty texts, some of them long, empty or of signs alone, are answered",
    async run(reranker) {
      const odd = ["", "…", "# \n\n", `${texts[0]} `.repeat(200), '"\\\u0000\ud83d\ude42', "明天上午去医院看病。"];
      const more = Array.from({ length: 30 - odd.length }, (_, index) => `note number ${index}`);
      await scored(reranker, question, [...odd, ...more]);
    },
  },
  {
    name: "order: the score of a text stands at its place, wherever that is",
    async run(reranker) {
      const straight = await scored(reranker, question, texts);
      const turned = (await scored(reranker, question, texts.toReversed())).toReversed();
      assert.deepEqual(
        byScore(turned),
        byScore(straight),
        "the scores belong to other texts when these are turned around",
      );
    },
  },
  {
    name: "order: the text that answers a question has the highest score",
    async run(reranker) {
      for (const [index, asked] of questions.entries()) {
        const [best] = byScore(await scored(reranker, asked, texts));
        assert.equal(best, index, `for "${asked}" it prefers "${texts[best ?? 0]}"`);
      }
    },
  },
  {
    name: "order: a text that stands twice gets its score twice",
    async run(reranker) {
      const [text = "", other = ""] = texts;
      const [first = 0, , second = 1] = await scored(reranker, question, [text, other, text]);
      assert.ok(Math.abs(first - second) <= 1e-3 * Math.max(1, Math.abs(first)), `${first} and ${second}`);
    },
  },
  {
    name: "repeat: the same call gives the same order",
    async run(reranker) {
      const first = await scored(reranker, question, texts);
      assert.deepEqual(byScore(await scored(reranker, question, texts)), byScore(first));
    },
  },
  {
    name: "input: the texts are not changed",
    async run(reranker) {
      const given = [...texts];
      await scored(reranker, question, given);
      assert.deepEqual(given, [...texts]);
      await scored(reranker, question, Object.freeze([...texts]));
    },
  },
  {
    name: "abort: a call that was aborted before it began is refused with AbortError",
    async run(reranker) {
      await assert.rejects(async () => reranker.rerank(question, texts, { signal: AbortSignal.abort() }), isAbort);
    },
  },
  {
    name: "abort: a call that is aborted on its way ends, and the reranker goes on working",
    async run(reranker) {
      const controller = new AbortController();
      const call = reranker.rerank(question, texts, { signal: controller.signal });
      controller.abort();
      const [outcome] = await Promise.allSettled([call]);
      // It may have been faster than the abort.
      if (outcome.status === "rejected") assert.ok(isAbort(outcome.reason), `aborting gave ${String(outcome.reason)}`);
      await scored(reranker, question, texts);
    },
  },
  {
    name: "parallel: calls that overlap each get their own scores",
    async run(reranker) {
      const alone: number[][] = [];
      for (const asked of questions) alone.push(await scored(reranker, asked, texts));
      const together = await Promise.all(questions.map((asked) => scored(reranker, asked, texts)));
      assert.deepEqual(together.map(byScore), alone.map(byScore));
    },
  },
  {
    name: "close: twice is as once, and a call after it is refused",
    async run(reranker) {
      if (reranker.close === undefined) return;
      await scored(reranker, question, texts);
      await reranker.close();
      await reranker.close();
      await assert.rejects(async () => reranker.rerank(question, texts, { signal: never }), "it answers after close");
    },
  },
];

async function scored(reranker: Reranker, query: string, given: readonly string[]): Promise<number[]> {
  const scores = await reranker.rerank(query, given, { signal: never });
  assert.ok(Array.isArray(scores), "it gave no list");
  assert.equal(scores.length, given.length, `${scores.length} scores for ${given.length} texts`);
  assert.ok(
    scores.every((score) => Number.isFinite(score)),
    "a score is no finite number",
  );
  return [...scores];
}

/** The places of the texts, best first. */
function byScore(scores: readonly number[]): number[] {
  return [...scores.keys()].toSorted((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
}
