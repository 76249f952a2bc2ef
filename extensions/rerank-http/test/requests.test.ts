import type { Reranker } from "@memslot/core";
import { type RerankApi, type RerankFault, startRerankApi } from "@memslot/fakes/rerank-api";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import plugin from "@memslot/rerank-http";
import { type ContextSetup, contextOf, failureOf } from "@memslot/fakes/plugin-context";
import { rerankConformance } from "@memslot/testkit";
import data from "./data/requests.json" with { type: "json" };

const signal = new AbortController().signal;
const texts = ["the cat sleeps", "the backup runs at night"];
const key = "sk-a-key-that-nobody-may-see";

let api: RerankApi;
beforeAll(async () => {
  api = await startRerankApi();
});
afterAll(() => api.close());
afterEach(() => {
  api.log.length = 0;
  vi.unstubAllGlobals();
});

function open(rerank: Record<string, unknown>, setup: ContextSetup = {}): Promise<Reranker> {
  return plugin.open(contextOf({ ...setup, memorySearch: { query: { rerank } } }));
}

function at(base: string, rerank: Record<string, unknown> = {}, options = {}): Promise<Reranker> {
  return open({ baseUrl: `${api.url}${base}`, ...rerank }, { options });
}

describe("a request", () => {
  test("has the model, the query and the texts, and asks for a score of each", async () => {
    const reranker = await at("/v1", { model: "some-model", apiKey: key });
    expect(await reranker.rerank("backup at night", texts, { signal })).toEqual([0, 1]);
    expect(api.log).toMatchObject([{ path: "/v1/rerank", headers: { authorization: `Bearer ${key}` } }]);
    expect(api.log[0]?.body).toEqual({ model: "some-model", query: "backup at night", documents: texts, top_n: 2 });
    expect(reranker).toMatchObject({ id: "rerank-http", model: "some-model" });
    expect(reranker.endpoint).toMatchObject({ host: new URL(api.url).host, keySource: "query.rerank.apiKey" });
  });

  test("names its texts as text-embeddings-inference does, where that is set", async () => {
    const reranker = await at("", {}, { format: "texts" });
    expect(await reranker.rerank("backup at night", texts, { signal })).toEqual([0, 1]);
    expect(api.log[0]?.body).toEqual({ query: "backup at night", texts, truncate: true });
    expect(api.log[0]?.headers).not.toHaveProperty("authorization");
  });

  test.each(["/v1", "/v1/", "/v1/rerank", "/v1/rerank/"])("goes to the same address for %s", async (base) => {
    await (await at(base)).rerank("cat", texts, { signal });
    expect(api.log.map(({ path }) => path)).toEqual(["/v1/rerank"]);
  });

  test("is not made where there is no text", async () => {
    expect(await (await at("/v1")).rerank("cat", [], { signal })).toEqual([]);
    expect(api.log).toEqual([]);
  });
});

describe("a key", () => {
  /** Stands in the place of every host. */
  function stubHosts(): { url: string; authorization: string | null }[] {
    const log: { url: string; authorization: string | null }[] = [];
    vi.stubGlobal("fetch", async (url: URL, init: RequestInit) => {
      log.push({ url: url.href, authorization: new Headers(init.headers).get("authorization") });
      return Response.json({ results: texts.map((_, index) => ({ index, relevance_score: 0.5 })) });
    });
    return log;
  }
  const env = { COHERE_API_KEY: "sk-cohere", JINA_API_KEY: "sk-jina", OPENAI_API_KEY: "sk-openai" };

  test.each(data.keys)("of the environment goes to its own host alone: %s", async (baseUrl, authorization, model) => {
    const log = stubHosts();
    const reranker = await open({ baseUrl }, { env });
    await reranker.rerank("cat", texts, { signal });
    expect(log).toEqual([{ url: `${baseUrl}/rerank`, authorization }]);
    expect(reranker.model).toBe(model);
  });

  test.each([
    ["no address", {}, env, /baseUrl is not set: write https:\/\/api\.cohere\.com\/v2/],
    ["no key for a service", { baseUrl: "https://api.jina.ai/v1" }, {}, /no key for Jina: set JINA_API_KEY or/],
    ["a service over http://", { baseUrl: "http://api.cohere.com/v2" }, env, /write https:\/\//],
    ["a password in the address", { baseUrl: "https://me:secret@example.org/v1" }, {}, /user name or password/],
    [
      "a key with a blank",
      { baseUrl: "https://example.org", apiKey: "sk 1" },
      {},
      /query\.rerank\.apiKey is not valid/,
    ],
  ])("is not sent with %s", async (_, rerank, environment, words) => {
    await expect(open(rerank, { env: environment as Record<string, string> })).rejects.toThrow(words);
  });
});

describe("what fails", () => {
  const results = (...rows: unknown[]): RerankFault => ({ body: { results: rows } });

  test.each<[name: string, fault: RerankFault, kind: string, words: RegExp, retryAfterMs?: number]>([
    ["a wrong key", { status: 401, body: { message: `invalid token ${key}` } }, "auth", /401: invalid token …/],
    [
      "a wrong address",
      { status: 404, body: "nothing here" },
      "auth",
      /404.*check memorySearch\.query\.rerank\.baseUrl/,
    ],
    ["an empty account", { status: 402, body: { error: { message: "no credit" } } }, "quota", /no credit/],
    ["too many requests", { status: 429, headers: { "retry-after": "7" }, body: {} }, "rate", /429/, 7000],
    [
      "a fault of the server",
      { status: 503, body: "<html><b>down</b></html>" },
      "transient",
      /503: a web page of a gateway/,
    ],
    ["another format", { status: 422, body: { error: "missing field texts" } }, "input", /format to "texts"/],
    ["a redirect", { status: 307, headers: { location: "http://127.0.0.1:9/" } }, "auth", /not followed/],
    ["no JSON", { body: "hello" }, "transient", /not JSON/],
    ["no results", { body: { object: "list" } }, "transient", /no list of results/],
    ["too few", results({ index: 0, relevance_score: 1 }), "transient", /1 of 2 texts have a score/],
    ["a text twice", results({ index: 0, score: 1 }, { index: 0, score: 2 }), "transient", /two scores/],
    ["a text too many", results({ index: 2, score: 1 }), "transient", /none of 0 to 1/],
    ["no score", results({ index: 0 }, { index: 1, score: "1" }), "transient", /no score/],
    ["too much", { body: `"${"x".repeat(1_200_000)}"` }, "transient", /more than 1\.0 MB/],
  ])("%s", async (_, fault, kind, words, retryAfterMs) => {
    api.fail(fault);
    const error = await failureOf((await at("/v1", { apiKey: key })).rerank("cat", texts, { signal }));
    expect(error).toMatchObject({ kind, message: expect.stringMatching(words) });
    expect(error).toHaveProperty("retryAfterMs", retryAfterMs);
    expect(JSON.stringify([error.message, error.stack])).not.toContain(key);
  });

  test("a server that is not there is named with its address", async () => {
    const reranker = await open({ baseUrl: "http://127.0.0.1:1/v1", apiKey: key });
    await expect(reranker.rerank("cat", texts, { signal })).rejects.toThrow(/cannot reach http:\/\/127\.0\.0\.1:1/);
  });

  test.each([
    ["an abort", { name: "AbortError" }],
    ["close", { code: "CLOSED" }],
  ])("%s ends a request without an answer", async (how, error) => {
    api.fail({ hang: true });
    const reranker = await at("/v1");
    const controller = new AbortController();
    const call = failureOf(reranker.rerank("cat", texts, { signal: controller.signal }));
    await vi.waitFor(() => expect(api.log).toHaveLength(1));
    if (how === "close") await reranker.close?.();
    else controller.abort();
    expect(await call).toMatchObject(error);
  });
});

describe.each([
  ["Cohere", "/v2", "documents"],
  ["Jina, vLLM and llama-server", "/v1", "documents"],
  ["text-embeddings-inference", "", "texts"],
])("an API in the format of %s", (_, base, format) => {
  rerankConformance(
    { describe, test },
    {
      plugin,
      options: { format },
      get settings() {
        return { model: "m", baseUrl: `${api.url}${base}`, apiKey: "sk-right" };
      },
    },
  );
});
