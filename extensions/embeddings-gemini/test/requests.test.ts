import plugin from "@memslot/embeddings-gemini";
import { type ApiFault, type EmbeddingApi, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { failureOf } from "@memslot/fakes/plugin-context";
import { embeddingConformance } from "@memslot/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { open, openAt } from "./support/open.ts";
import cases from "./data/cases.json" with { type: "json" };
import failures from "./data/failures.json" with { type: "json" };
import data from "./data/requests.json" with { type: "json" };

interface SentRequest {
  model: string;
  content: { parts: { text: string }[] };
  taskType?: string;
}

describe("a request", () => {
  let api: EmbeddingApi;
  beforeAll(async () => {
    api = await startEmbeddingApi({ dimensions: 64, apiKey: "test-key" });
  });
  afterAll(() => api.close());
  beforeEach(() => api.reset());

  function sent(): { path: string; headers: Record<string, string>; requests: SentRequest[] } {
    expect(api.log).toHaveLength(1);
    const [{ path = "", headers = {}, body = "" } = {}] = api.log.splice(0);
    return { path, headers, requests: (JSON.parse(body) as { requests: SentRequest[] }).requests };
  }

  const textsIn = (requests: SentRequest[]): string[][] =>
    requests.map(({ content }) => content.parts.map(({ text }) => text));

  test("has all notes of a batch, each with content and task type of its own, or one query", async () => {
    const provider = await openAt(api.url);
    expect(await provider.embedBatch(["one", "two", "three"])).toHaveLength(3);
    const { path, headers, requests } = sent();
    expect(path).toBe("/v1beta/models/gemini-embedding-001:batchEmbedContents");
    expect(headers["x-goog-api-key"]).toBe("test-key");
    expect(textsIn(requests)).toEqual([["one"], ["two"], ["three"]]);
    for (const request of requests) expect(request.taskType).toBe("RETRIEVAL_DOCUMENT");
    for (const request of requests) expect(request).not.toHaveProperty("outputDimensionality");
    const shorter = await openAt(api.url, { outputDimensionality: 768 });
    expect(shorter.dimensions).toBe(768);
    expect(await shorter.embedQuery("where?")).toHaveLength(768);
    expect(sent().requests).toEqual(data.sent);
  });

  test.each([
    [{ inputType: "SEMANTIC_SIMILARITY" }, "SEMANTIC_SIMILARITY", "SEMANTIC_SIMILARITY"],
    [{ inputType: "clustering", queryInputType: "question_answering" }, "QUESTION_ANSWERING", "CLUSTERING"],
    [{ documentInputType: "FACT_VERIFICATION" }, "RETRIEVAL_QUERY", "FACT_VERIFICATION"],
    [{ inputType: "TASK_TYPE_UNSPECIFIED" }, undefined, undefined],
  ])("has the input types of %o", async (settings, forQueries, forNotes) => {
    const provider = await openAt(api.url, settings);
    await provider.embedQuery("where?");
    expect(sent().requests[0]?.taskType).toBe(forQueries);
    await provider.embedBatch(["here"]);
    expect(sent().requests[0]?.taskType).toBe(forNotes);
  });

  test.each(data.prefixes as [object, string, string][])(
    "to a model that reads prefixes has them in place of task types: %o",
    async (settings, query, note) => {
      const provider = await openAt(api.url, { model: "gemini-embedding-2", ...settings });
      await provider.embedQuery("?");
      expect(sent().requests).toEqual([{ model: "models/gemini-embedding-2", content: { parts: [{ text: query }] } }]);
      await provider.embedBatch(["!", "!!"]);
      const { requests } = sent();
      expect(textsIn(requests)).toEqual([[note], [`${note}!`]]);
      for (const request of requests) expect(request).not.toHaveProperty("taskType");
    },
  );

  test("has configured headers in place of the default ones, a key among them", async () => {
    const headers = {
      "Content-Type": "application/json; charset=utf-8",
      "user-agent": "",
      "x-goog-api-key": "test-key",
    };
    const provider = await openAt(api.url, { remote: { apiKey: "wrong", headers } });
    expect(provider.endpoint?.keySource).toBe("remote.headers");
    await provider.embedQuery("where?");
    const { headers: received } = sent();
    expect(received).toMatchObject({ "content-type": headers["Content-Type"], "x-goog-api-key": "test-key" });
    expect(received["user-agent"]).not.toBe("memslot");
  });

  test.each(data.addresses as [string, string][])("for a base URL ending in %s goes to %s", async (end, start) => {
    expect(await (await openAt(`${api.url}${end}`)).embedQuery("where?")).toHaveLength(64);
    expect(sent().path.startsWith(start)).toBe(true);
  });

  test("reports the tokens of the answer, if there are any", async () => {
    const provider = await openAt(api.url);
    const usages: number[] = [];
    const onUsage = ({ tokens }: { tokens: number }): number => usages.push(tokens);
    await provider.embedBatch(["12345678", "1234"], { onUsage });
    api.fail({ match: ":batchEmbedContents", body: { embeddings: [{ values: [1, 2] }] } });
    expect(await provider.embedBatch(["a"], { onUsage })).toEqual([[1, 2]]);
    expect(usages).toEqual([3]);
  });

  test.each(failures as [string, ApiFault, { kind: string; retryAfterMs?: number; message: string }][])(
    "that fails: %s",
    async (_name, fault, { kind, retryAfterMs, message }) => {
      const provider = await openAt(api.url);
      api.fail({ match: ":batchEmbedContents", ...fault });
      const error = await failureOf(provider.embedBatch(["one", "two"]));
      expect(error).toMatchObject({ kind, message: expect.stringMatching(message) });
      expect(error).toHaveProperty("retryAfterMs", retryAfterMs);
      expect(error.message).not.toContain("test-key");
      expect(api.log).toHaveLength(1);
      expect(await provider.embedBatch(["after"])).toHaveLength(1);
    },
  );
});

describe("a model", () => {
  const openWith = (memorySearch: Record<string, unknown> = {}, model?: string): ReturnType<typeof open> =>
    open({ env: { GEMINI_API_KEY: "k" }, memorySearch, model });

  test.each(cases.models as [string | null, string, number | null, number, number | null][])(
    "%s has the limits, dimensions and price of %s",
    async (model, name, dimensions, maxInputTokens, usd) => {
      const provider = await openWith({ model: model ?? undefined });
      const limits = { id: "gemini", model: name, maxInputTokens, maxBatchItems: 100, maxBatchTokens: 20_000 };
      expect(provider).toMatchObject({ ...limits, dimensions: dimensions ?? undefined, batches: undefined });
      expect(provider.price?.usdPerMillionTokens).toBe(usd ?? undefined);
    },
  );

  test("of Google has a dated price, half of it for batches, which are offered if enabled", async () => {
    const provider = await openWith({ remote: { batch: { enabled: true } } });
    expect(provider.price).toEqual({
      usdPerMillionTokens: 0.15,
      batchUsdPerMillionTokens: 0.075,
      asOf: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      source: "https://ai.google.dev/gemini-api/docs/pricing",
    });
    expect(provider.batches).toMatchObject({ maxItems: 300, maxBytes: 500_000 });
    const other = await openWith({ model: "gemini-embedding-2", remote: { baseUrl: "https://proxy.example" } }, "m");
    expect(other).toMatchObject({ model: "m", price: undefined });
  });

  test("has a space of its own for each way in which notes are embedded", async () => {
    const keyOf = async (settings: Record<string, unknown>): Promise<string | undefined> =>
      (await openWith(settings)).cacheKey;
    const usual = await keyOf({});
    const query = { queryInputType: "QUESTION_ANSWERING", remote: { baseUrl: "https://other.example" } };
    expect(await keyOf(query)).toBe(usual);
    const others = [
      { documentInputType: "CLUSTERING" },
      { inputType: "TASK_TYPE_UNSPECIFIED" },
      { model: "gemini-embedding-2" },
    ];
    expect(new Set([usual, ...(await Promise.all(others.map(keyOf)))]).size).toBe(4);
  });

  test.each(cases.refusedSettings as [Record<string, unknown>, string][])(
    "with %o is refused before a text is sent",
    async (settings, words) => {
      await expect(openWith(settings)).rejects.toMatchObject({ code: "CONFIG", message: expect.stringMatching(words) });
    },
  );
});

describe.each([
  { model: "gemini-embedding-001", outputDimensionality: 256, dimensions: 3072 },
  { model: "gemini-embedding-2", outputDimensionality: undefined, dimensions: 3072 },
  { model: "text-embedding-of-later", outputDimensionality: undefined, dimensions: 300 },
])("$model with $outputDimensionality", ({ model, outputDimensionality, dimensions }) => {
  let api: EmbeddingApi;
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
