import { expect, test } from "vitest";
import { watchChildren } from "./test/children.ts";
import { cosine, openModel, tinyModel } from "./test/lab.ts";

/** A model that takes some hundredths of a second for a text of full length. */
const slow = { layers: 4, dimensions: 128 };
const longText = "some words that fill the context ".repeat(60);

test("a text that is too long stands for its beginning", async () => {
  const provider = await openModel(tinyModel());
  const text = `${"cat ".repeat(2000)}${"dog ".repeat(2000)}`;
  const [vector = [], cats = [], dogs = []] = await provider.embedBatch([text, "cat ".repeat(200), "dog ".repeat(200)]);
  expect(cosine(vector, cats)).toBeGreaterThan(0.99);
  expect(cosine(vector, dogs)).toBeLessThan(0.9);
});

test("a text that fits has the vector of the whole of it, also beyond what llama.cpp takes at one time by itself", async () => {
  const provider = await openModel(tinyModel({ contextLength: 1024 }));
  // Some 600 and 100 pieces; one batch holds 512 where nothing is said.
  const text = `${"cat ".repeat(300)}${"dog ".repeat(50)}`;
  const [vector = [], cats = [], dogs = []] = await provider.embedBatch([text, "cat ".repeat(200), "dog ".repeat(200)]);
  expect(cosine(vector, cats)).toBeGreaterThan(cosine(vector, dogs));
});

test("texts without a word have a vector too", async () => {
  const provider = await openModel(tinyModel());
  for (const vector of await provider.embedBatch(["", "   ", "\n\t", "\u0000", "\ud800", "🙂"])) {
    expect(vector.length).toBe(64);
    expect(Array.from(vector).every(Number.isFinite)).toBe(true);
    expect(Array.from(vector).some((value) => value !== 0)).toBe(true);
  }
});

test("a text of some megabytes without a space is embedded", async () => {
  const provider = await openModel(tinyModel());
  expect((await provider.embedQuery("x".repeat(4_000_000))).length).toBe(64);
});

test("two contexts work at the same time: a short text does not wait for a long one", async () => {
  const provider = await openModel(tinyModel({ ...slow, contextLength: 2048 }), { options: { contexts: 2 } });
  expect(provider.maxConcurrency).toBe(2);
  await provider.embedQuery("load");
  const order: string[] = [];
  await Promise.all([
    provider.embedBatch([longText.repeat(4)]).then(() => order.push("long")),
    provider.embedBatch(["short"]).then(() => order.push("short")),
  ]);
  expect(order).toEqual(["short", "long"]);
});

test("a query goes before the notes that wait", async () => {
  const provider = await openModel(tinyModel(slow), { options: { contexts: 1 } });
  await provider.embedQuery("load");
  let isOver = false;
  const batch = provider.embedBatch(Array.from({ length: 8 }, () => longText)).then(() => (isOver = true));
  await provider.embedQuery("query");
  expect(isOver).toBe(false);
  await batch;
});

test("a call that is aborted ends at once, and what is left of it is not worked on", async () => {
  const controllers = [new AbortController(), new AbortController()];
  let answers = 0;
  const children = watchChildren((_, message) => {
    if (message.type !== "vector") return;
    answers += 1;
    // The first one is that of the query.
    if (answers === 2) controllers[1]?.abort();
  });
  const provider = await openModel(tinyModel(slow), { options: { contexts: 1 } });
  await provider.embedQuery("load");
  const texts = Array.from({ length: 32 }, () => longText);
  const aborted = expect.objectContaining({ name: "AbortError" });
  const first = provider.embedBatch(texts, { signal: controllers[0]?.signal });
  controllers[0]?.abort();
  await expect(first).rejects.toThrow(aborted);
  await expect(provider.embedBatch(texts, { signal: controllers[1]?.signal })).rejects.toThrow(aborted);
  await provider.embedBatch(["next"]);
  expect(answers).toBeLessThan(texts.length);
  expect(children.length).toBe(1);
});

test("the tokens of a call are told, with those of the prefix", async () => {
  const provider = await openModel(tinyModel({ words: ["cat", "dog"] }));
  const tokens: number[] = [];
  const onUsage = (usage: { tokens: number }): void => void tokens.push(usage.tokens);
  await provider.embedBatch(["cat dog", "cat"], { onUsage });
  // Each text has a token at its beginning and one at its end.
  expect(tokens).toEqual([4 + 3]);
  const withPrefix = await openModel(tinyModel({ words: ["search", "query", "cat"], name: "nomic-embed-text-v1.5" }));
  tokens.length = 0;
  await withPrefix.embedQuery("cat", { onUsage });
  // search _ query : cat
  expect(tokens).toEqual([5 + 2]);
});

test("limits are known from the head of the file before anything is loaded, and from the model after", async () => {
  const children = watchChildren();
  const provider = await openModel(tinyModel({ dimensions: 32, contextLength: 300 }), { options: { contexts: 1 } });
  expect([provider.dimensions, provider.maxInputTokens, provider.maxConcurrency]).toEqual([32, 300, 1]);
  expect(children.length).toBe(0);
  await provider.embedQuery("load");
  expect([provider.dimensions, provider.maxInputTokens]).toEqual([32, 299]);
  const cut = await openModel(tinyModel({ contextLength: 512 }), { options: { contextSize: 128 } });
  expect(cut.maxInputTokens).toBe(128);
  expect((await cut.embedQuery("word ".repeat(400))).length).toBe(64);
});
