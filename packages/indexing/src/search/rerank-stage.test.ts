import assert from "node:assert/strict";
import { EmbeddingError, type Reranker } from "@memslot/core";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { search, storeWith } from "./test/search-lab.ts";
import { estimateTokens } from "../text/split-by-tokens.ts";
import { dealtScores, RerankStage } from "./rerank-stage.ts";
import data from "./test/rerank-stage.json" with { type: "json" };

/** A reranker that thinks the more of a text the higher the number in it is, and remembers what it was asked. */
interface AskedReranker extends Reranker {
  calls: { query: string; texts: readonly string[] }[];
}

function byNumber(own: Partial<Reranker> = {}): AskedReranker {
  const calls: AskedReranker["calls"] = [];
  return {
    calls,
    id: "by-number",
    model: "m",
    async rerank(query, texts, options) {
      calls.push({ query, texts });
      if (own.rerank) return own.rerank(query, texts, options);
      return texts.map((text) => Number(/number (\d+)/.exec(text)?.[1] ?? -1));
    },
    ...(own.maxInputTokens === undefined ? {} : { maxInputTokens: own.maxInputTokens }),
  };
}

/** Notes that the index likes the less the higher their number is: they hold the word among ever more others. */
function heaps(count: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `memory/n${String(index).padStart(3, "0")}.md`,
      `The walrus is number ${index}${" and sleeps".repeat(index)}.`,
    ]),
  );
}

function stageOf(
  reranker: Reranker,
  { timeoutMs = 60_000, candidates = 30, now }: { timeoutMs?: number; candidates?: number; now?: () => number } = {},
): RerankStage {
  return new RerankStage(reranker, { candidates, timeoutMs }, now);
}

describe("a reranker", () => {
  test("decides the order; the scores stay those of the index, the highest for the first", async () => {
    const store = await storeWith(heaps(8));
    const before = await search(store, "walrus number", { maxResults: 8 });
    expect(before.paths).toEqual(before.paths.toSorted());
    const after = await search(store, "walrus number", { maxResults: 8, rerank: stageOf(byNumber()) });
    expect(after.paths).toEqual(before.paths.toReversed());
    const scores = after.results.map(({ score }) => score);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    expect(new Set(scores).size).toBe(8);
    for (const [index, score] of scores.entries()) expect(score).toBeCloseTo(before.results[index]?.score ?? -1, 4);
    expect(after.report).toMatchObject(data.reranked);
    expect(after.report.rerank?.order?.[0]).toMatchObject({
      path: "memory/n007.md",
      before: 8,
      after: 1,
      score: before.results[7]?.score,
      rerankScore: 7,
    });
    expect(before.report.rerank).toBeUndefined();
  });

  test("brings up what the limit would have cut, out of thirty candidates and no more", async () => {
    const store = await storeWith(heaps(60));
    const reranker = byNumber();
    const { paths, report } = await search(store, "walrus number", { maxResults: 3, rerank: stageOf(reranker) });
    expect(paths).toEqual(["memory/n029.md", "memory/n028.md", "memory/n027.md"]);
    expect(reranker.calls.map(({ texts }) => texts.length)).toEqual([30]);
    expect(report.dropped.limit).toBe(57);
    const all = await search(store, "walrus number", {
      maxResults: 60,
      maxTokens: 4000,
      rerank: stageOf(reranker),
    });
    // Behind the candidates the others come as they are.
    expect(all.paths.slice(29, 32)).toEqual(["memory/n000.md", "memory/n030.md", "memory/n031.md"]);
    const scores = all.results.map(({ score }) => score);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  });

  test("reads passages: the lines that match, under what they stand under, within its limit", async () => {
    const filler = "Something else entirely was written here about the harbour and its boats.\n".repeat(40);
    const section = `## Animals\n\n${filler}The walrus is number 1.\n${filler}`;
    const notes = { "memory/Zoo visit.md": section.repeat(3), "memory/b.md": "walrus" };
    const store = await storeWith(notes);
    const reranker = byNumber();
    await search(store, "walrus", { rerank: stageOf(reranker) });
    const small = byNumber({ maxInputTokens: 100 });
    await search(store, "walrus", { rerank: stageOf(small) });
    for (const [{ calls }, most] of [
      [reranker, 420],
      [small, 100],
    ] as const) {
      const texts = calls[0]?.texts ?? [];
      expect(texts.length).toBeGreaterThan(1);
      for (const text of texts) {
        expect(text).toContain("walrus");
        expect(estimateTokens(text)).toBeLessThanOrEqual(most);
      }
      expect(texts.some((text) => text.startsWith("Zoo visit > Animals\n"))).toBe(true);
    }
  });

  test("reads no key that was pasted into the question", async () => {
    const key = ["sk", "proj", "a8F3kL0pQ7xZ2mN9vB4c", "T6yR1wE5uI8oP3sD7gH"].join("-");
    const store = await storeWith(heaps(3));
    const reranker = byNumber();
    await search(store, `walrus number api_key=${key}`, { rerank: stageOf(reranker) });
    expect(reranker.calls).toHaveLength(1);
    expect(JSON.stringify(reranker.calls)).not.toContain(key);
  });

  test.each([
    ["there is one candidate", heaps(1), "walrus", 1],
    ["there is none", heaps(3), "giraffe", 0],
    [
      "a time alone is asked for, which has an order of its own",
      { "memory/2026-03-12.md": "# 2026-03-12\n\nwalrus number 1", "memory/2026-03-13.md": "# 2026-03-13\n\nnumber 2" },
      "March 2026",
      2,
    ],
  ])("is not asked where %s", async (_, notes: Record<string, string>, query, found) => {
    const store = await storeWith(notes);
    const reranker = byNumber();
    const { paths, report } = await search(store, query, { rerank: stageOf(reranker) });
    expect(paths).toHaveLength(found);
    expect(reranker.calls).toEqual([]);
    expect(report.rerank).toBeUndefined();
    expect(report.state).toBe("ok");
  });

  test("does not move the note that is named like the query from the first place", async () => {
    const notes = data.namedLikeTheQuery;
    const store = await storeWith(notes);
    const { paths } = await search(store, "heat pump", { rerank: stageOf(byNumber()) });
    expect(paths).toEqual(["memory/Heat pump.md", "memory/b.md", "memory/a.md"]);
    // One that has more in its name is a note as others are.
    const manual = await storeWith({
      "memory/Heat pump manual.md": notes["memory/Heat pump.md"],
      "memory/b.md": "Nobody said heat pump, number 9.",
    });
    const before = await search(manual, "heat pump");
    expect(before.paths[0]).toBe("memory/Heat pump manual.md");
    expect((await search(manual, "heat pump", { rerank: stageOf(byNumber()) })).paths[0]).toBe("memory/b.md");
    // And so is this one, asked for otherwise.
    const other = await search(store, "which pump stands behind the neighbours house", { rerank: stageOf(byNumber()) });
    expect(other.paths).toEqual(["memory/b.md", "memory/a.md", "memory/Heat pump.md"]);
  });
});

describe("minScore", () => {
  test("is compared with the score of the index, before the reranker is asked", async () => {
    const store = await storeWith({ ...heaps(6), "memory/z.md": `A seal is number 99${" and sleeps".repeat(9)}.` });
    const options = { maxResults: 20, minScore: 0.4, strict: true };
    const before = await search(store, "walrus number qqq", options);
    const reranker = byNumber();
    const after = await search(store, "walrus number qqq", { ...options, rerank: stageOf(reranker) });
    expect(before.report.dropped.minScore).toBeGreaterThan(0);
    expect(before.paths.length).toBeGreaterThan(1);
    expect(after.report.dropped).toEqual(before.report.dropped);
    expect(after.paths.toSorted()).toEqual(before.paths.toSorted());
    expect(reranker.calls.map(({ texts }) => texts.length)).toEqual([before.paths.length]);
  });

  test.each(data.scores as [string, number[], Record<"minScore" | "below", number>][])("%s", (_, scores, limits) => {
    const dealt = dealtScores(scores, limits);
    expect(dealt).toHaveLength(scores.length);
    for (const [index, score] of dealt.entries()) {
      expect(score).toBeLessThanOrEqual(1);
      expect(score).toBeGreaterThan(limits.below);
      if (index > 0) expect(score).toBeLessThan(dealt[index - 1] ?? 0);
      if ((scores[index] ?? 0) >= limits.minScore) expect(score).toBeGreaterThanOrEqual(limits.minScore);
    }
  });
});

describe("what fails leaves the order as it was, and is reported", () => {
  const refuse = (error: Error) => async (): Promise<never> => {
    throw error;
  };
  const give =
    (scores: (texts: readonly string[]) => unknown): Reranker["rerank"] =>
    async (_, texts) =>
      scores(texts) as number[];

  const failing: readonly (readonly [name: string, rerank: Reranker["rerank"], words: RegExp, calls: number])[] = [
    ["an error", refuse(new Error("out of memory")), /out of memory$/, 1],
    ["a throw", () => assert.fail("not async"), /not async$/, 1],
    ["a refused key", refuse(new EmbeddingError("auth", "far answered 401")), /answered 401$/, 1],
    ["a dead network, twice", refuse(new EmbeddingError("transient", "gone")), /gone$/, 2],
    ["too few scores", give(() => [1]), /broke its contract: it gave 1 scores for 5 texts/, 1],
    ["too many scores", give((texts) => [...texts, ""].map(() => 1)), /it gave 6 scores for 5 texts/, 1],
    ["scores that are none", give((texts) => texts.map(() => Number.NaN)), /a score is no finite number/, 1],
    ["texts for scores", give((texts) => texts.map(() => "1")), /no finite number/, 1],
    ["no list", give(() => ({ length: 5 })), /it gave no list/, 1],
    ["an abort that the caller did not ask for", refuse(new DOMException("x", "AbortError")), /ended the request$/, 1],
    ["changing the texts", give((texts) => (texts as string[]).sort()), /read only/, 1],
  ];

  test.each(failing)("%s", async (_, rerank, words, calls) => {
    const store = await storeWith(heaps(5));
    const before = await search(store, "walrus number");
    const reranker = byNumber({ rerank });
    const { results, report } = await search(store, "walrus number", { rerank: stageOf(reranker) });
    expect(results).toEqual(before.results);
    expect(reranker.calls).toHaveLength(calls);
    expect(report).toMatchObject({ state: "degraded", rerank: { state: "failed", candidates: 5, cached: false } });
    expect(report.reason).toMatch(words);
    expect(report.rerank?.reason).toBe(report.reason);
    expect(report.rerank?.order).toBeUndefined();
  });

  test("no answer within the time, from one that listens to no signal", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const store = await storeWith(heaps(5));
    const before = await search(store, "walrus number");
    const reranker = byNumber({ rerank: async () => new Promise(() => {}) });
    const found = search(store, "walrus number", { rerank: stageOf(reranker) });
    await vi.advanceTimersByTimeAsync(60_000);
    const { results, report } = await found;
    expect(results).toEqual(before.results);
    expect(report.reason).toMatch(/the reranker "by-number" did not answer within 60 s$/);
  });

  test("one failure by chance is tried again", async () => {
    const store = await storeWith(heaps(5));
    let isFirst = true;
    const reranker = byNumber({
      async rerank(_, texts) {
        if (isFirst) {
          isFirst = false;
          throw new EmbeddingError("transient", "reset");
        }
        return texts.map((_, index) => index);
      },
    });
    const { report } = await search(store, "walrus number", { rerank: stageOf(reranker) });
    expect(report).toMatchObject({ state: "ok", rerank: { state: "done" } });
    expect(reranker.calls).toHaveLength(2);
  });

  test("an abort is an abort, not a failure", async () => {
    const store = await storeWith(heaps(5));
    const controller = new AbortController();
    const rerank = vi.fn<Reranker["rerank"]>(async () => {
      controller.abort();
      return await new Promise<number[]>(() => {});
    });
    const found = search(store, "walrus number", { signal: controller.signal, rerank: stageOf(byNumber({ rerank })) });
    await expect(found).rejects.toMatchObject({ name: "AbortError" });
    expect(rerank).toHaveBeenCalledTimes(1);
  });

  test("a group does not get the reranker's message", async () => {
    const store = await storeWith(heaps(5));
    const reranker = byNumber({ rerank: async () => Promise.reject(new Error("cannot read: my diary")) });
    const { report } = await search(store, "walrus number", { audience: "shared", rerank: stageOf(reranker) });
    expect(report.rerank?.state).toBe("failed");
    expect(JSON.stringify(report)).not.toContain("diary");
  });

  test.each([
    ["transient", undefined, 5000],
    ["auth", undefined, 60_000],
    ["rate", 1234, 1234],
  ] as const)("after %s (%s) it is left alone for a while, and then asked again", async (kind, retryAfterMs, forMs) => {
    const store = await storeWith(heaps(5));
    let now = 0;
    const reranker = byNumber({ rerank: async () => Promise.reject(new EmbeddingError(kind, "no", { retryAfterMs })) });
    const rerank = stageOf(reranker, { now: () => now });
    const perFailure = kind === "transient" ? 2 : 1;
    await search(store, "walrus number", { rerank });
    now = forMs - 1;
    const { report } = await search(store, "walrus number", { rerank });
    expect(report.reason).toMatch(/no; no request for 1 s$/);
    expect(reranker.calls).toHaveLength(perFailure);
    now = forMs;
    await search(store, "walrus number", { rerank });
    expect(reranker.calls).toHaveLength(2 * perFailure);
  });

  test("a text that it refuses is no reason to leave it alone", async () => {
    const store = await storeWith(heaps(5));
    const reranker = byNumber({ rerank: async () => Promise.reject(new EmbeddingError("input", "too long")) });
    const rerank = stageOf(reranker);
    for (let time = 0; time < 3; time++) await search(store, "walrus number", { rerank });
    expect(reranker.calls).toHaveLength(3);
  });
});

describe("answers are kept", () => {
  test("for the same question and texts, and no others", async () => {
    const store = await storeWith(heaps(5));
    const reranker = byNumber();
    const rerank = stageOf(reranker);
    const first = await search(store, "walrus number", { rerank });
    const second = await search(store, "walrus number", { rerank });
    expect(second.paths).toEqual(first.paths);
    expect([first, second].map(({ report }) => report.rerank?.cached)).toEqual([false, true]);
    expect(reranker.calls).toHaveLength(1);
    await search(store, "number walrus", { rerank });
    expect(reranker.calls).toHaveLength(2);
    const changed = await storeWith({ ...heaps(5), "memory/n002.md": "The walrus is number 99." });
    expect((await search(changed, "walrus number", { rerank })).paths[0]).toBe("memory/n002.md");
    expect(reranker.calls).toHaveLength(3);
  });

  test("and not for ever: the oldest of more than 256 goes", async () => {
    const reranker = byNumber();
    const rerank = stageOf(reranker);
    const store = await storeWith(heaps(2));
    for (let index = 0; index <= 256; index++) await search(store, `walrus number q${index}`, { rerank });
    await search(store, "walrus number q256", { rerank });
    expect(reranker.calls).toHaveLength(257);
    await search(store, "walrus number q0", { rerank });
    expect(reranker.calls).toHaveLength(258);
  });
});
