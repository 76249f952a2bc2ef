import { describe, expect, test } from "vitest";
import { parseConfig } from "@memslot/core";
import { deterministicEmbeddingPlugin, deterministicEmbeddings } from "@memslot/testkit";

function cosine(left: ArrayLike<number>, right: ArrayLike<number>): number {
  return Array.from(left).reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0);
}

describe("deterministic embeddings", () => {
  test("vectors have unit length and the asked width", async () => {
    const vector = await deterministicEmbeddings({ dimensions: 40 }).embedQuery("some text");
    expect(vector.length).toBe(40);
    expect(cosine(vector, vector)).toBeCloseTo(1, 5);
  });

  test("words of one synonym group are near, others are not", async () => {
    const provider = deterministicEmbeddings();
    const text = await provider.embedQuery("The car is parked behind the house, beside the old chestnut tree.");
    expect(cosine(await provider.embedQuery("automobile"), text)).toBeGreaterThan(0.8);
    expect(cosine(await provider.embedQuery("physician"), text)).toBeLessThan(0.2);
    expect(
      cosine(
        await provider.embedQuery("what my guests can't eat"),
        await provider.embedQuery("Noor has a peanut allergy"),
      ),
    ).toBeGreaterThan(0.8);
    expect(cosine(await provider.embedQuery("doctor"), await provider.embedQuery("周三去看病"))).toBeGreaterThan(0.8);
  });

  test("groups of one's own are added", async () => {
    const provider = deterministicEmbeddings({ synonyms: [["ledger", "account book"]] });
    expect(cosine(await provider.embedQuery("ledger"), await provider.embedQuery("the account book"))).toBeGreaterThan(
      0.8,
    );
    expect(cosine(await provider.embedQuery("car"), await provider.embedQuery("vehicle"))).toBeGreaterThan(0.8);
  });

  test("another model gives other vectors", async () => {
    const [one, two] = await Promise.all(
      ["one", "two"].map((model) => deterministicEmbeddings({ model }).embedQuery("some words of a text")),
    );
    expect(cosine(one ?? [], two ?? [])).toBeLessThan(0.6);
  });

  test("every third call fails, and calls are counted", async () => {
    const provider = deterministicEmbeddings({ failEvery: 3 });
    const outcomes: string[] = [];
    for (let call = 1; call <= 6; call++) {
      const running = call % 2 === 0 ? provider.embedQuery("x") : provider.embedBatch(["x", "y"]);
      outcomes.push(
        await Promise.resolve<unknown>(running).then(
          () => "ok",
          () => "failed",
        ),
      );
    }
    expect(outcomes).toEqual(["ok", "ok", "failed", "ok", "ok", "failed"]);
    expect(provider.calls()).toEqual({ queries: 3, batches: 3, texts: 6, failures: 2 });
  });

  test("an abort ends the delay", async () => {
    const controller = new AbortController();
    const running = deterministicEmbeddings({ delayMs: 3_600_000 }).embedQuery("x", { signal: controller.signal });
    controller.abort();
    await expect(running).rejects.toMatchObject({ name: "AbortError" });
  });

  test("a batch over the stated limit is refused", async () => {
    const provider = deterministicEmbeddings();
    const texts = Array.from({ length: (provider.maxBatchItems ?? 0) + 1 }, String);
    await expect(provider.embedBatch(texts)).rejects.toThrow("the limit is 16");
  });

  test("a width that is none is refused", () => {
    expect(() => deterministicEmbeddings({ dimensions: 0 })).toThrow("positive integer");
  });

  test("the plugin opens it with the options of the configuration", async () => {
    expect(deterministicEmbeddingPlugin).toMatchObject({ kind: "embedding", id: "deterministic" });
    const settings = parseConfig({}, { stateDir: "/nowhere" }).agent("main").memorySearch;
    const provider = await deterministicEmbeddingPlugin.open({
      settings,
      stateDir: "/nowhere",
      providers: {},
      environment: () => undefined,
      options: { dimensions: 12 },
      signal: new AbortController().signal,
    });
    expect(provider.dimensions).toBe(12);
  });
});
