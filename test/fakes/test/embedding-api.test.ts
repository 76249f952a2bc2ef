import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type EmbeddingApi, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { deterministicEmbeddings } from "@memslot/testkit";
import { embed, type EmbeddingsAnswer, errorOf, floatsOf, post } from "./embedding-api-client.ts";

let api: EmbeddingApi;
beforeEach(async () => {
  api = await startEmbeddingApi({ dimensions: 32 });
});
afterEach(() => api.close());

describe("OpenAI's embeddings", () => {
  test("vectors are those of the deterministic embeddings of this model, in order", async () => {
    const answer = await embed(api, ["a car", "an invoice"]);
    const model = deterministicEmbeddings({ model: "m", dimensions: 32 });
    for (const [index, text] of ["a car", "an invoice"].entries())
      expect(answer.data[index]).toEqual({
        object: "embedding",
        index,
        embedding: Array.from(await model.embedQuery(text)),
      });
    expect(answer).toMatchObject({ object: "list", model: "m" });
  });

  test("another model gives other vectors, and a request can ask for a width", async () => {
    const [one, other] = await Promise.all([embed(api, ["a car"]), embed(api, ["a car"], { model: "n" })]);
    expect(one.data[0]?.embedding).not.toEqual(other.data[0]?.embedding);
    const narrow = await embed(api, ["a car"], { dimensions: 7 });
    expect(narrow.data[0]?.embedding).toHaveLength(7);
  });

  test("base64 carries the same floats", async () => {
    const [plain, packed] = await Promise.all([
      embed(api, ["a car", "x"]),
      embed(api, ["a car", "x"], { encoding_format: "base64" }),
    ]);
    expect(packed.data.map(floatsOf)).toEqual(plain.data.map(({ embedding }) => embedding));
  });

  test("tokens are a quarter of the characters of all texts, rounded up once", async () => {
    const { usage } = await embed(api, ["12345", "123", "1"]);
    expect(usage).toEqual({ prompt_tokens: 3, total_tokens: 3 });
    expect(api.stats()).toEqual({ requests: 1, embeddingRequests: 1, texts: 3, tokens: 3, maxInFlight: 1 });
  });

  test("one text and the numbers of tokens are input too", async () => {
    for (const input of ["a car", [1, 2, 3], [[1, 2], [3]]]) {
      const answer = (await (await post(`${api.url}/v1/embeddings`, { model: "m", input })).json()) as EmbeddingsAnswer;
      expect(answer.data).toHaveLength(Array.isArray(input) && Array.isArray(input[0]) ? 2 : 1);
    }
  });

  test.each([
    ["an empty text", { model: "m", input: ["a", ""] }, "'$.input' is invalid"],
    ["no text", { model: "m", input: [] }, "'$.input' is invalid"],
    ["no model", { input: "a" }, "model parameter"],
  ])("%s is refused", async (_, body, message) => {
    const answer = await post(`${api.url}/v1/embeddings`, body);
    expect(answer.status).toBe(400);
    expect((await errorOf(answer)).message).toContain(message);
  });

  test("a body that is not JSON is refused", async () => {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${api.url}/v1/embeddings`, { method: "POST", headers, body: "{" });
    expect(answer.status).toBe(400);
    expect((await errorOf(answer)).message).toContain("could not parse the JSON body");
  });

  test("models are listed and looked up", async () => {
    const list = (await (await fetch(`${api.url}/v1/models`)).json()) as { data: { id: string }[] };
    expect(list.data.map(({ id }) => id)).toContain("text-embedding-3-small");
    expect(await (await fetch(`${api.url}/v1/models/nomic`)).json()).toMatchObject({ id: "nomic", object: "model" });
  });

  test("an unknown path is answered with 404 and JSON", async () => {
    const answer = await post(`${api.url}/v1/embedding`, {});
    expect(answer.status).toBe(404);
    expect((await errorOf(answer)).message).toBe("Invalid URL (POST /v1/embedding)");
  });
});

describe("limits", () => {
  let limited: EmbeddingApi;
  beforeEach(async () => {
    limited = await startEmbeddingApi({ dimensions: 4, limits: { inputTokens: 10, items: 3, requestTokens: 20 } });
  });
  afterEach(() => limited.close());

  test.each([
    ["a text", ["x".repeat(41)], "maximum context length is 10 tokens, however you requested 11 tokens"],
    ["the number of texts", ["a", "b", "c", "d"], "maximum length 3, but got an array with length 4"],
    ["the whole", ["x".repeat(40), "x".repeat(40), "y"], "Requested 21 tokens, max 20 tokens per request"],
  ])("%s is too much", async (_, input, message) => {
    const answer = await post(`${limited.url}/v1/embeddings`, { model: "m", input });
    expect(answer.status).toBe(400);
    expect((await errorOf(answer)).message).toContain(message);
    expect(limited.stats()).toMatchObject({ requests: 1, embeddingRequests: 1, texts: 0 });
  });

  test("what is just within is taken", async () => {
    const answer = await embed(limited, ["x".repeat(40), "x".repeat(39), "y"]);
    expect(answer.data).toHaveLength(3);
  });

  test("without limits of one's own those of the service hold", async () => {
    for (const [input, status] of [
      [Array.from({ length: 2048 }, String), 200],
      [Array.from({ length: 2049 }, String), 400],
      [["x".repeat(4 * 8192)], 200],
      [["x".repeat(4 * 8192 + 1)], 400],
      [Array.from({ length: 40 }, () => "x".repeat(30_000)), 200],
      [Array.from({ length: 41 }, () => "x".repeat(30_000)), 400],
    ] as const)
      expect((await post(`${api.url}/v1/embeddings`, { model: "m", input, dimensions: 2 })).status).toBe(status);
  });
});

describe("the server", () => {
  test("a key is asked for when there is one, and no other is taken", async () => {
    const strict = await startEmbeddingApi({ apiKey: "sk-right", dimensions: 4 });
    const ask = (headers: Record<string, string>): Promise<Response> =>
      post(`${strict.url}/v1/embeddings`, { model: "m", input: "a" }, headers);
    try {
      expect((await ask({ authorization: "Bearer sk-right" })).status).toBe(200);
      const wrong = await ask({ authorization: "Bearer sk-wrong-key" });
      expect(wrong.status).toBe(401);
      expect(await errorOf(wrong)).toMatchObject({ code: "invalid_api_key" });
      const none = await ask({});
      expect(none.status).toBe(401);
      expect((await errorOf(none)).message).toContain("You didn't provide an API key");
    } finally {
      await strict.close();
    }
  });

  test("the log holds requests as they came, and reset forgets them", async () => {
    const before = Date.now();
    await post(`${api.url}/v1/embeddings?a=1`, { model: "m", input: "käse" }, { "X-Mine": "yes" });
    expect(api.log).toHaveLength(1);
    const [request] = api.log;
    expect(request).toMatchObject({ method: "POST", path: "/v1/embeddings?a=1", headers: { "x-mine": "yes" } });
    expect(JSON.parse(request?.body ?? "")).toEqual({ model: "m", input: "käse" });
    expect(request?.at).toBeGreaterThanOrEqual(before);
    api.reset();
    expect(api.log).toEqual([]);
    expect(api.stats()).toEqual({ requests: 0, embeddingRequests: 0, texts: 0, tokens: 0, maxInFlight: 0 });
  });

  test("requests that are under way together are counted", async () => {
    const slow = await startEmbeddingApi({ dimensions: 4, latencyMs: 150 });
    try {
      await Promise.all(Array.from({ length: 20 }, () => embed(slow, ["a"])));
      await embed(slow, ["a"]);
      expect(slow.stats().maxInFlight).toBe(20);
    } finally {
      await slow.close();
    }
  });

  test("the latency is waited for", async () => {
    const slow = await startEmbeddingApi({ dimensions: 4, latencyMs: 60 });
    try {
      const start = performance.now();
      await embed(slow, ["a"]);
      expect(performance.now() - start).toBeGreaterThan(50);
    } finally {
      await slow.close();
    }
  });

  test("vectors of one's own are sent", async () => {
    const own = await startEmbeddingApi({
      embed: (text, { model, dimensions }) => Float32Array.of(text.length, model.length, dimensions),
    });
    try {
      const answer = await embed(own, ["four"], { model: "sixsix" });
      expect(answer.data[0]?.embedding).toEqual([4, 6, 768]);
    } finally {
      await own.close();
    }
  });
});
