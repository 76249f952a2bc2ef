import { startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { embeddingConformance } from "@memslot/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import plugin from "@memslot/embeddings-gemini";
import { type GeminiSetup, openGemini } from "./support/open-gemini.ts";
import cases from "./data/cases.json" with { type: "json" };

const env = { GEMINI_API_KEY: "k" };
const open = (memorySearch: GeminiSetup["memorySearch"] = {}, model?: string) =>
  openGemini({ env, memorySearch, ...(model !== undefined && { model }) });

describe("what is known of a model", () => {
  test.each(cases.models as [string | null, string, number | null, number, number | null][])(
    "%s",
    async (model, name, dimensions, maxInputTokens, usd) => {
      const provider = await open({ model: model ?? undefined });
      expect(provider).toMatchObject({
        id: "gemini",
        model: name,
        maxInputTokens,
        maxBatchItems: 100,
        maxBatchTokens: 20_000,
      });
      expect(provider.dimensions).toBe(dimensions ?? undefined);
      expect(provider.price?.usdPerMillionTokens).toBe(usd ?? undefined);
    },
  );

  test("the price is dated, halved for batches, and not said of another host", async () => {
    expect((await open()).price).toEqual({
      usdPerMillionTokens: 0.15,
      batchUsdPerMillionTokens: 0.075,
      asOf: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      source: "https://ai.google.dev/gemini-api/docs/pricing",
    });
    expect((await open({ remote: { baseUrl: "https://proxy.example" } })).price).toBeUndefined();
  });

  test("the host's model comes before the configured one", async () => {
    expect((await open({ model: "gemini-embedding-2" }, "gemini-embedding-001")).model).toBe("gemini-embedding-001");
  });

  test("batches are offered only where they are asked for", async () => {
    expect((await open()).batches).toBeUndefined();
    expect((await open({ remote: { batch: { enabled: true } } })).batches).toMatchObject({
      maxItems: 300,
      maxBytes: 500_000,
    });
  });

  test.each(cases.refusedSettings as [GeminiSetup["memorySearch"], string][])(
    "%o is refused before a text is",
    async (settings, words) => {
      await expect(open(settings)).rejects.toMatchObject({ code: "CONFIG", message: expect.stringMatching(words) });
    },
  );
});

describe.each([
  { model: undefined, outputDimensionality: undefined, dimensions: 3072 },
  { model: "gemini-embedding-001", outputDimensionality: 256, dimensions: 3072 },
  { model: "gemini-embedding-2", outputDimensionality: undefined, dimensions: 3072 },
  { model: "text-embedding-of-later", outputDimensionality: undefined, dimensions: 300 },
])("$model with $outputDimensionality", ({ model, outputDimensionality, dimensions }) => {
  let api: Awaited<ReturnType<typeof startEmbeddingApi>>;
  beforeAll(async () => {
    api = await startEmbeddingApi({ dimensions, apiKey: "test-key", limits: { items: 100 } });
  });
  afterAll(() => api.close());

  embeddingConformance(
    { describe, test },
    {
      plugin,
      get settings() {
        return { model, outputDimensionality, remote: { baseUrl: api.url, apiKey: "test-key" } };
      },
    },
  );
});
