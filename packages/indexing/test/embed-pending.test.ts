import type { SyncProgress } from "@memslot/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { FileChunks } from "../src/chunk-store.ts";
import { createVectorSync, type VectorSync } from "../src/embed-pending.ts";
import { never } from "./support/context.ts";
import { fakeEmbeddings } from "./support/fake-embeddings.ts";
import { createFakeStore, type FakeStore } from "./support/fake-store.ts";

async function storeWith(texts: readonly string[], context = ""): Promise<FakeStore> {
  const store = createFakeStore();
  const file = (text: string, index: number): FileChunks => ({
    path: `memory/${index}.md`,
    source: "memory",
    hash: text,
    mtimeMs: 1,
    size: 1,
    recipe: "r",
    chunks: [{ startLine: 1, endLine: 1, text, context, terms: text, hash: `hash of ${context} ${text}` }],
  });
  await store.replaceFiles(texts.map(file));
  return store;
}

function texts(count: number, length = 10): string[] {
  return Array.from({ length: count }, (_, index) => `${index} `.padEnd(length, "x"));
}

async function fill(
  vectors: VectorSync,
  signal = never,
  progress: (update: SyncProgress) => void = () => undefined,
): ReturnType<VectorSync["embedMissing"]> {
  return await vectors.embedMissing({ signal, progress });
}

/** Like `fill`, without the pauses between attempts. */
async function fillAtOnce(vectors: VectorSync, signal = never): ReturnType<VectorSync["embedMissing"]> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const state = { ended: false };
  const filled = fill(vectors, signal).finally(() => (state.ended = true));
  filled.catch(() => undefined);
  while (!state.ended) await vi.advanceTimersByTimeAsync(1000);
  return await filled;
}

afterEach(() => void vi.useRealTimers());

describe("missing vectors", () => {
  test("are made for every chunk, once, of unit length", async () => {
    const store = await storeWith([...texts(150), "0 xxxxxxxx"]);
    const provider = fakeEmbeddings();
    const vectors = createVectorSync(store, provider);
    expect(await fill(vectors)).toBeUndefined();
    expect(await store.stats()).toMatchObject({ embedded: 151, cachedVectors: 150 });
    const asked = provider.batches.length;
    expect(await fill(vectors)).toBeUndefined();
    expect(provider.batches.length).toBe(asked);
    const put = store.calls
      .filter(({ method }) => method === "putVectors")
      .flatMap(({ argument }) => argument as { vector: Float32Array }[]);
    for (const { vector } of put) expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
  });

  test("stand in the space of provider, model, key and length", async () => {
    const store = await storeWith(["budget"]);
    const vectors = createVectorSync(store, { ...fakeEmbeddings(), cacheKey: "document" });
    expect(vectors.space()).toBeUndefined();
    await fill(vectors);
    expect(vectors.space()).toEqual({ provider: "fake", model: "groups", providerKey: "document", dimensions: 5 });
    expect(store.space).toEqual(vectors.space());
  });

  test("the headings of a chunk are embedded with it", async () => {
    const provider = fakeEmbeddings({ limits: { dimensions: 5 } });
    await fill(createVectorSync(await storeWith(["text"], "2026-03-05 > Trip"), provider));
    expect(provider.batches).toEqual([["2026-03-05 > Trip\n\ntext"]]);
  });

  test("a provider that states its length is not asked for it", async () => {
    const provider = fakeEmbeddings({ limits: { dimensions: 5 } });
    await fill(createVectorSync(await storeWith([]), provider));
    expect(provider.batches).toEqual([]);
  });

  test("requests keep the limits that the provider states, or ours", async () => {
    for (const [limits, items, tokens] of [
      [{ maxBatchItems: 7 }, 7, 8000],
      [{ maxBatchTokens: 500 }, 64, 500],
      [{}, 64, 8000],
    ] as const) {
      const provider = fakeEmbeddings({ limits: { ...limits, dimensions: 5 } });
      await fill(createVectorSync(await storeWith(texts(200, 400)), provider));
      expect(provider.batches.flat()).toHaveLength(200);
      for (const batch of provider.batches) {
        expect(batch.length).toBeLessThanOrEqual(items);
        expect(batch.join("").length / 4).toBeLessThanOrEqual(tokens);
      }
      expect(provider.batches.length).toBeLessThan(60);
    }
  });

  test("a text that is over the limit of a request goes alone", async () => {
    const provider = fakeEmbeddings({ limits: { maxBatchTokens: 50, dimensions: 5 } });
    await fill(createVectorSync(await storeWith(["a", "b".repeat(400), "c"]), provider));
    expect(provider.batches.map((batch) => batch.map((text) => text[0]))).toEqual([["a"], ["b"], ["c"]]);
  });

  test("progress counts to the number of chunks, also where some share a vector", async () => {
    const updates: SyncProgress[] = [];
    const store = await storeWith([...texts(100), ...texts(100)]);
    await fill(createVectorSync(store, fakeEmbeddings()), never, (update) => void updates.push(update));
    expect(updates.at(-1)).toEqual({ completed: 200, total: 200, label: "embedding" });
    expect(new Set(updates.map(({ total }) => total))).toEqual(new Set([200]));
  });
});

describe("a provider that fails", () => {
  test("for a moment is asked again", async () => {
    const provider = fakeEmbeddings({
      limits: { dimensions: 5 },
      fail: (_, call) => (call === 1 ? new Error("busy") : undefined),
    });
    const store = await storeWith(["budget"]);
    expect(await fillAtOnce(createVectorSync(store, provider))).toBeUndefined();
    expect(provider.batches).toHaveLength(2);
    expect(await store.stats()).toMatchObject({ embedded: 1 });
  });

  test("for good leaves what is done, and says how many chunks are left and why", async () => {
    const provider = fakeEmbeddings({
      limits: { dimensions: 5, maxBatchItems: 64 },
      fail: (_, call) => (call > 2 ? new Error("429:\n quota is spent") : undefined),
    });
    const store = await storeWith(texts(1000));
    expect(await fillAtOnce(createVectorSync(store, provider))).toEqual({
      chunks: 1000 - 128,
      reason: "fake: 429: quota is spent",
    });
    expect(provider.batches).toHaveLength(5);
    expect(await store.stats()).toMatchObject({ embedded: 128 });
  });

  test("from the first call on leaves every chunk", async () => {
    const provider = fakeEmbeddings({ fail: () => new Error("no key") });
    expect(await fillAtOnce(createVectorSync(await storeWith(texts(3)), provider))).toEqual({
      chunks: 3,
      reason: "fake: no key",
    });
  });

  test.each([
    ["too few vectors", (vectors: number[][]) => vectors.slice(1), /2 vectors came back for 3 texts/],
    ["an empty vector", (vectors: number[][]) => vectors.map(() => []), /empty, all zero or not finite/],
    ["a vector of zeros", (vectors: number[][]) => vectors.map(() => [0, 0, 0, 0, 0]), /empty, all zero or not finite/],
    [
      "a vector with NaN",
      (vectors: number[][]) => vectors.map(() => [1, Number.NaN, 0, 0, 0]),
      /empty, all zero or not finite/,
    ],
    [
      "another length",
      (vectors: number[][]) => vectors.map(() => [1, 2, 3]),
      /3 numbers where 5 were expected: it has changed its model/,
    ],
  ])("by giving %s stores nothing", async (_, answer, reason) => {
    const store = await storeWith(["a", "b", "c"]);
    const provider = fakeEmbeddings({ limits: { dimensions: 5 }, answer });
    expect(await fillAtOnce(createVectorSync(store, provider))).toMatchObject({
      chunks: 3,
      reason: expect.stringMatching(reason) as string,
    });
    expect(await store.stats()).toMatchObject({ embedded: 0 });
  });

  test("with an abort of its own is one that failed", async () => {
    const provider = fakeEmbeddings({ limits: { dimensions: 5 }, fail: () => new DOMException("gone", "AbortError") });
    expect(await fillAtOnce(createVectorSync(await storeWith(["a"]), provider))).toMatchObject({ chunks: 1 });
  });
});

test("a store that fails is not taken for a provider that does", async () => {
  for (const method of ["pendingVectors", "putVectors", "useSpace"] as const) {
    const store = await storeWith(["a"]);
    const error = new Error("disk full");
    store.fail(method, () => error);
    await expect(fill(createVectorSync(store, fakeEmbeddings()))).rejects.toBe(error);
  }
});

test("an abort ends the work, also between two attempts", async () => {
  const controller = new AbortController();
  const provider = fakeEmbeddings({
    limits: { dimensions: 5 },
    fail: () => {
      setTimeout(() => controller.abort(), 10);
      return new Error("busy");
    },
  });
  await expect(fill(createVectorSync(await storeWith(["a"]), provider), controller.signal)).rejects.toMatchObject({
    name: "AbortError",
  });
  expect(provider.batches).toHaveLength(1);
});

test("an abort during the last attempt is an abort, not a failure of the provider", async () => {
  const controller = new AbortController();
  const provider = fakeEmbeddings({
    limits: { dimensions: 5 },
    fail: (_, call) => {
      if (call === 3) controller.abort();
      return new Error("busy");
    },
  });
  const vectors = createVectorSync(await storeWith(["a"]), provider);
  await expect(fillAtOnce(vectors, controller.signal)).rejects.toMatchObject({ name: "AbortError" });
});

describe("the vector of a query", () => {
  test("is of unit length, and names the space where there is none yet", async () => {
    const store = await storeWith([]);
    const vectors = createVectorSync(store, fakeEmbeddings());
    expect(Math.hypot(...(await vectors.embedQuery("budget", never)))).toBeCloseTo(1, 5);
    expect(store.space?.dimensions).toBe(5);
  });

  test("of another length than the stored ones is refused", async () => {
    const vectors = createVectorSync(await storeWith([]), fakeEmbeddings({ limits: { dimensions: 8 } }));
    await fill(vectors);
    await expect(vectors.embedQuery("budget", never)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  test("an abort ends the wait for a provider that does not listen", async () => {
    const deaf = { ...fakeEmbeddings(), embedQuery: async () => await new Promise<number[]>(() => undefined) };
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 10);
    await expect(
      createVectorSync(await storeWith([]), deaf).embedQuery("budget", controller.signal),
    ).rejects.toMatchObject({ name: "AbortError" });
  });
});
