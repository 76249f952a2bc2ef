import { type EmbeddingApi, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { openAt } from "./support/open-gemini.ts";
import data from "./data/requests.json" with { type: "json" };

interface SentRequest {
  model: string;
  content: { parts: { text: string }[] };
  taskType?: string;
  outputDimensionality?: number;
}

describe("what is sent", () => {
  let api: EmbeddingApi;
  beforeAll(async () => {
    api = await startEmbeddingApi({ dimensions: 64, apiKey: "test-key" });
  });
  afterAll(() => api.close());
  beforeEach(() => api.reset());
  afterEach(() => vi.unstubAllEnvs());

  function sent(): { path: string; headers: Record<string, string>; requests: SentRequest[] } {
    expect(api.log).toHaveLength(1);
    const [{ path = "", headers = {}, body = "" } = {}] = api.log;
    return { path, headers, requests: (JSON.parse(body) as { requests: SentRequest[] }).requests };
  }

  const texts = ["one", "two", "three"];
  const textsSent = (requests: SentRequest[]) => requests.map(({ content }) => content.parts.map(({ text }) => text));

  test("notes go in one request, each text with content and task type of its own", async () => {
    const provider = await openAt(api.url);
    expect(await provider.embedBatch(texts)).toHaveLength(3);
    const { path, headers, requests } = sent();
    expect(path).toBe("/v1beta/models/gemini-embedding-001:batchEmbedContents");
    expect(headers["x-goog-api-key"]).toBe("test-key");
    expect(textsSent(requests)).toEqual([["one"], ["two"], ["three"]]);
    for (const { taskType } of requests) expect(taskType).toBe("RETRIEVAL_DOCUMENT");
    for (const request of requests) expect(request).not.toHaveProperty("outputDimensionality");
  });

  test("a query is marked as one", async () => {
    const provider = await openAt(api.url, { outputDimensionality: 768 });
    expect(provider.dimensions).toBe(768);
    expect(await provider.embedQuery("where?")).toHaveLength(768);
    const { requests } = sent();
    expect(requests).toEqual(data.sent);
  });

  test.each([
    [{ inputType: "SEMANTIC_SIMILARITY" }, "SEMANTIC_SIMILARITY", "SEMANTIC_SIMILARITY"],
    [{ inputType: "clustering", queryInputType: "question_answering" }, "QUESTION_ANSWERING", "CLUSTERING"],
    [{ documentInputType: "FACT_VERIFICATION" }, "RETRIEVAL_QUERY", "FACT_VERIFICATION"],
    [{ inputType: "TASK_TYPE_UNSPECIFIED" }, undefined, undefined],
  ])("the input types of %o are sent", async (settings, forQueries, forNotes) => {
    const provider = await openAt(api.url, settings);
    await provider.embedQuery("where?");
    expect(sent().requests[0]?.taskType).toBe(forQueries);
    api.reset();
    await provider.embedBatch(["here"]);
    expect(sent().requests[0]?.taskType).toBe(forNotes);
  });

  test.each(data.prefixes as [object, string, string][])(
    "a model that reads prefixes gets them in place of task types: %o",
    async (settings, query, note) => {
      const provider = await openAt(api.url, { model: "gemini-embedding-2", ...settings });
      await provider.embedQuery("?");
      expect(sent().requests).toEqual([{ model: "models/gemini-embedding-2", content: { parts: [{ text: query }] } }]);
      api.reset();
      await provider.embedBatch(["!", "!!"]);
      expect(textsSent(sent().requests)).toEqual([[note], [`${note}!`]]);
      for (const request of sent().requests) expect(request).not.toHaveProperty("taskType");
    },
  );

  test("vectors of notes are kept apart by what they were made for, not by where or for which questions", async () => {
    const keyOf = async (settings: Record<string, unknown>, url = api.url) => (await openAt(url, settings)).cacheKey;
    const usual = await keyOf({});
    expect(await keyOf({ queryInputType: "QUESTION_ANSWERING" }, "https://other.example")).toBe(usual);
    const others = [
      await keyOf({ documentInputType: "CLUSTERING" }),
      await keyOf({ inputType: "TASK_TYPE_UNSPECIFIED" }),
      await keyOf({ model: "gemini-embedding-2" }),
    ];
    expect(new Set([usual, ...others]).size).toBe(4);
    expect(`${usual} ${others.join(" ")}`).not.toMatch(/127\.0\.0\.1|test-key/);
  });

  test("headers of the configuration win over the usual ones, and a blank one takes a usual one away", async () => {
    const headers = {
      "X-Goog-Api-Client": "mine",
      "Content-Type": "application/json; charset=utf-8",
      "user-agent": "",
    };
    const provider = await openAt(api.url, { remote: { headers } });
    await provider.embedQuery("where?");
    const { headers: received } = sent();
    expect(received["x-goog-api-client"]).toBe("mine");
    expect(received["content-type"]).toBe("application/json; charset=utf-8");
    expect(received["user-agent"]).not.toContain("google-genai-sdk");
  });

  test("a key among the headers stands in for the other one", async () => {
    const provider = await openAt(api.url, { remote: { apiKey: "wrong", headers: { "x-goog-api-key": "test-key" } } });
    expect(provider.endpoint?.keySource).toBe("remote.headers");
    await provider.embedQuery("where?");
    expect(sent().headers["x-goog-api-key"]).toBe("test-key");
  });

  test.each(data.addresses as [string, string][])(
    "a base URL that ends in %s is asked below it once",
    async (end, start) => {
      const provider = await openAt(`${api.url}${end}`);
      expect(await provider.embedQuery("where?")).toHaveLength(64);
      expect(sent().path.startsWith(start)).toBe(true);
    },
  );

  test("what the answer says of tokens is told, and nothing where it says nothing", async () => {
    const provider = await openAt(api.url);
    const told: number[] = [];
    const onUsage = ({ tokens }: { tokens: number }) => told.push(tokens);
    await provider.embedBatch(["12345678", "1234"], { onUsage });
    expect(told).toEqual([3]);
    api.fail({ match: ":batchEmbedContents", body: { embeddings: [{ values: [1, 2] }] } });
    expect(await provider.embedBatch(["a"], { onUsage })).toEqual([[1, 2]]);
    expect(told).toEqual([3]);
  });
});
