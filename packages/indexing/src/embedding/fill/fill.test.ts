import { EmbeddingError, type SyncProgress } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { randomFrom } from "@memslot/test-tools/random";
import { budgetOf, expectFilled, fillWith } from "../requests/test/fill-with.ts";
import { scriptedRequests, vectorOf, wait } from "../requests/test/scripted-requests.ts";
import { createSpaceStore, hashOf, texts } from "../../../test/support/space-store.ts";

describe("missing vectors", () => {
  test("belong to their texts when answers come in any order, with no more requests at one time than allowed", async () => {
    const random = randomFrom(7);
    const store = await createSpaceStore(texts(1000));
    const requests = scriptedRequests({
      provider: { maxBatchItems: 16 },
      answer: (_, __, signal) => wait(random.below(12), signal),
    });
    expect(await fillWith(store, requests)).toBeUndefined();
    expectFilled(store, texts(1000));
    expect(requests.mostInFlight).toBe(4);
    expect(requests.sent.length).toBe(Math.ceil(1000 / 16));
    // Two pages, and one look whether there is more.
    expect(store.calls.filter(({ method }) => method === "pendingVectors")).toHaveLength(3);
  });

  test("a slow request holds up no other", async () => {
    const store = await createSpaceStore(texts(40));
    let storedMeanwhile = 0;
    const requests = scriptedRequests({
      provider: { maxBatchItems: 1 },
      answer: async (_, call, signal) => {
        if (call === 1) await wait(80, signal);
        if (call === 1) storedMeanwhile = store.vectors.size;
      },
    });
    await fillWith(store, requests, { concurrency: 2 });
    expect(storedMeanwhile).toBe(39);
  });

  test("of texts that stand twice are made once, with the headings", async () => {
    const store = await createSpaceStore();
    for (const _ of [1, 2]) await store.add(["line"], "Trip");
    const requests = scriptedRequests();
    expect(await fillWith(store, requests)).toBeUndefined();
    expect(requests.sent).toEqual([["Trip\n\nline"]]);
    expect(store.vectors.get(hashOf("line", "Trip"))).toEqual(vectorOf("Trip\n\nline"));
  });

  test("that are all there cost nothing", async () => {
    const requests = scriptedRequests();
    const updates: SyncProgress[] = [];
    const progress = (update: SyncProgress): void => void updates.push(update);
    expect(await fillWith(await createSpaceStore(), requests, { progress })).toBeUndefined();
    expect([requests.sent, updates]).toEqual([[], []]);
  });

  test("of texts that come in meanwhile are made too", async () => {
    const store = await createSpaceStore(texts(100));
    const requests = scriptedRequests({
      answer: (_, call) => (call === 1 ? store.add(texts(3000, 10, "new")) : undefined),
    });
    expect(await fillWith(store, requests, { concurrency: 1 })).toBeUndefined();
    expectFilled(store, [...texts(100), ...texts(3000, 10, "new")]);
  });

  test("are not paid for again when the store forgets them", async () => {
    const store = await createSpaceStore(texts(200));
    store.before("pendingVectors", () => store.vectors.clear());
    const requests = scriptedRequests();
    await fillWith(store, requests, { concurrency: 1 });
    expect(requests.sent.flat().toSorted()).toEqual(texts(200).toSorted());
  });

  test("are counted for the progress, from none to all", async () => {
    const store = await createSpaceStore(texts(100));
    await store.add(texts(50));
    const updates: SyncProgress[] = [];
    const progress = (update: SyncProgress): void => void updates.push(update);
    await fillWith(store, scriptedRequests({ provider: { maxBatchItems: 40 } }), { progress, concurrency: 1 });
    expect(updates.map(({ completed }) => completed)).toEqual([0, 40, 80, 100, 150]);
    expect(new Set(updates.map(({ total, label }) => `${total} ${label}`))).toEqual(
      new Set(["150 embedding with scripted"]),
    );
  });
});

describe("an interrupted fill", () => {
  test("stores what it has, ends with the reason of the abort, and goes on with the rest", async () => {
    const store = await createSpaceStore(texts(640));
    const controller = new AbortController();
    const reason = new Error("closing");
    const first = scriptedRequests({
      answer: async (_, call, signal) => {
        if (call === 5) controller.abort(reason);
        if (call > 4) await wait(60_000, signal);
      },
    });
    await expect(fillWith(store, first, { signal: controller.signal, concurrency: 2 })).rejects.toBe(reason);
    expect(store.vectors.size).toBe(256);
    const second = scriptedRequests();
    expect(await fillWith(store, second)).toBeUndefined();
    expect(second.sent.flat()).toHaveLength(640 - 256);
    expect(new Set([...first.passed.flat(), ...second.sent.flat()])).toEqual(new Set(texts(640)));
    expectFilled(store, texts(640));
  });

  test("that never ends leaves the rest to the next one", async () => {
    const store = await createSpaceStore(texts(640));
    const dead = scriptedRequests({ answer: (_, call) => (call > 3 ? new Promise(() => undefined) : undefined) });
    void fillWith(store, dead);
    await expect.poll(() => store.vectors.size).toBe(192);
    const second = scriptedRequests();
    await fillWith(store, second);
    expect(second.sent.flat()).toHaveLength(640 - 192);
  });

  test("that was aborted before it began asks for nothing", async () => {
    const store = await createSpaceStore(texts(3));
    const requests = scriptedRequests();
    await expect(fillWith(store, requests, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: "AbortError",
    });
    expect([requests.sent, store.calls]).toEqual([[], []]);
  });
});

describe("a provider that fails", () => {
  test.each(["transient", "rate", "quota", "auth"] as const)(
    "with %s ends the run: what is on its way is stored, nothing else is sent",
    async (kind) => {
      const store = await createSpaceStore(texts(640));
      const error = new EmbeddingError(kind, "scripted answered: no");
      const requests = scriptedRequests({
        answer: async (_, call, signal) => {
          if (call === 3) throw error;
          await wait(20, signal);
        },
      });
      expect(await fillWith(store, requests)).toEqual({ chunks: 640 - 192, reason: "scripted answered: no", error });
      expect(requests.sent).toHaveLength(4);
      expect(store.vectors.size).toBe(192);
      expect(store.refused.size).toBe(0);
    },
  );

  test("with vectors of another length gets none of them stored", async () => {
    const store = await createSpaceStore(texts(200));
    const requests = scriptedRequests({
      vectorOf: (text) => (text === "t70 xxxxxx" ? new Float32Array(3) : vectorOf(text)),
    });
    const outcome = await fillWith(store, requests, { concurrency: 1 });
    expect(outcome).toMatchObject({ chunks: 136, error: { kind: "auth" } });
    expect(outcome?.reason).toBe(
      "the provider scripted gave vectors of 3 numbers where 4 were expected: it serves another model under the same name; name the model in memorySearch.model, or run `memslot memory index --force` to embed everything with it",
    );
    expect(requests.sent).toHaveLength(2);
    expectFilled(store, texts(64));
  });

  test("by a mistake in its code is not taken for a refusal", async () => {
    const mistake = new TypeError("undefined is not a function");
    const requests = scriptedRequests({ answer: () => Promise.reject(mistake) });
    await expect(fillWith(await createSpaceStore(texts(3)), requests)).rejects.toBe(mistake);
  });
});

test.each(["spaceStats", "pendingVectors", "putVectors"] as const)(
  "a store that fails in %s fails the fill",
  async (method) => {
    const store = await createSpaceStore(texts(640));
    const error = new EmbeddingError("transient", "no provider, the disk is full");
    store.before(method, () => Promise.reject(error));
    const requests = scriptedRequests({ answer: (_, __, signal) => wait(5, signal) });
    await expect(fillWith(store, requests)).rejects.toBe(error);
    expect(requests.sent.length).toBeLessThanOrEqual(4);
  },
);

describe("a budget", () => {
  const words =
    "the token budget of today is spent (memorySearch.budget.tokensPerDay); embedding goes on tomorrow, keywords go on now";

  test("is used to its end and not beyond, however many requests run", async () => {
    for (const [concurrency, budget] of [
      [1, 1000],
      [4, 1000],
      [4, 5],
      [3, 2505],
    ] as const) {
      const store = await createSpaceStore(texts(400, 40));
      let spent = 0;
      const requests = scriptedRequests({
        provider: { maxBatchItems: 20 },
        answer: async (sent, _, signal) => {
          await wait(2, signal);
          spent += sent.join("").length / 4;
        },
      });
      const outcome = await fillWith(store, requests, { concurrency, budget: budgetOf(() => budget - spent) });
      expect(spent).toBeLessThanOrEqual(budget);
      expect(spent).toBeGreaterThan(budget - 10);
      expect(outcome).toEqual({ chunks: 400 - store.vectors.size, reason: words });
      expect(store.vectors.size).toBe(spent / 10);
    }
  });

  test("that is spent stops the run before its first request, and one that is enough does not", async () => {
    const store = await createSpaceStore(texts(10, 40));
    const requests = scriptedRequests();
    expect(await fillWith(store, requests, { budget: budgetOf(() => -5) })).toEqual({ chunks: 10, reason: words });
    expect(requests.sent).toEqual([]);
    expect(await fillWith(store, requests, { budget: budgetOf(() => 100) })).toBeUndefined();
    expect(await fillWith(store, requests, { budget: budgetOf(() => 0) })).toBeUndefined();
  });
});
