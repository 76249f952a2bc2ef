import { type EmbeddingApi, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import plugin from "@memslot/embeddings-openai";
import { embeddingConformance } from "@memslot/testkit";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { tempFolder } from "@memslot/test-tools/files";
import { type ContextSetup, failureOf } from "@memslot/fakes/plugin-context";
import { open, openOnApi } from "./support/open.ts";
import cases from "./data/cases.json" with { type: "json" };

const bodyOf = (request: { body: string } | undefined): Record<string, unknown> => JSON.parse(request?.body ?? "{}");

describe("a request", () => {
  test("asks for base64 in the order of the texts, and reports its tokens", async () => {
    const { api, provider } = await openOnApi({ api: { dimensions: 8 } });
    const usages: number[] = [];
    const onUsage = ({ tokens }: { tokens: number }): number => usages.push(tokens);
    const vectors = await provider.embedBatch(["one note", "another one"], { onUsage });
    expect(api.log.map(({ method, path }) => `${method} ${path}`)).toEqual(["POST /v1/embeddings"]);
    expect(bodyOf(api.log[0])).toEqual(cases.firstRequest);
    expect(vectors.map(({ length }) => length)).toEqual([8, 8]);
    expect(usages).toEqual([api.stats().tokens]);
  });

  test("names the dimensions that are asked for", async () => {
    const { api, provider } = await openOnApi({ memorySearch: { outputDimensionality: 32 } });
    expect(provider.dimensions).toBe(32);
    expect((await provider.embedQuery("a question")).length).toBe(32);
    expect(bodyOf(api.log[0])).toMatchObject({ dimensions: 32 });
  });

  test.each([
    [{ inputType: "both" }, "both", "both"],
    [{ inputType: "both", queryInputType: "query" }, "query", "both"],
    [{ queryInputType: "search_query", documentInputType: "search_document" }, "search_query", "search_document"],
    [{ documentInputType: "passage" }, undefined, "passage"],
  ])("with %j sends %s for queries and %s for notes", async (memorySearch, query, document) => {
    const { api, provider } = await openOnApi({ memorySearch: { ...memorySearch, model: "nomic-embed-text" } });
    await provider.embedQuery("a question");
    await provider.embedBatch(["a note"]);
    const [asked, stored] = api.log.map(bodyOf);
    expect([asked?.["input_type"], stored?.["input_type"]]).toEqual([query, document]);
    // The server knows what to put in front.
    expect([asked?.["input"], stored?.["input"]]).toEqual([["a question"], ["a note"]]);
  });

  test("puts in front of a text what the model was trained with", async () => {
    const { api, provider } = await openOnApi({ memorySearch: { model: "nomic-embed-text:latest" } });
    await provider.embedQuery("a question");
    await provider.embedBatch(["a note"]);
    expect(api.log.map((request) => bodyOf(request)["input"])).toEqual(cases.prefixed);
  });
});

describe("the form of vectors", () => {
  const refusesBase64 = { when: { body: '"encoding_format":"base64"' }, times: 99, status: 400 };
  const refusesTheField = { when: { body: "encoding_format" }, times: 99, status: 400 };
  const withMessage = (message: string): { body: unknown } => ({ body: { error: { message } } });
  const forms = (api: EmbeddingApi): unknown[] => api.log.map((request) => bodyOf(request)["encoding_format"]);

  test.each([
    [
      "base64 is refused by its name",
      { ...refusesBase64, ...withMessage("base64 encoding is not supported") },
      "float",
    ],
    ["FastAPI names the field", { ...refusesTheField, body: cases.fieldRefusal }, undefined],
    ["FastAPI names the field second, with a type", { ...refusesTheField, body: cases.secondFieldRefusal }, undefined],
    [
      "the field is refused",
      { ...refusesTheField, ...withMessage("Unrecognized argument: encoding_format") },
      undefined,
    ],
    ["there is no vector for it", { ...refusesBase64, status: 200, body: { data: [] } }, "float"],
    ["it is a fault of the server", { ...refusesBase64, status: 502, body: "<html>" }, "float"],
  ])("is another one where %s, and is remembered by address and model", async (_, fault, form) => {
    const stateDir = tempFolder();
    const api = await startEmbeddingApi();
    onTestFinished(() => api.close());
    api.fail(fault);
    const openOnce = (model = "m"): ReturnType<typeof open> =>
      open({ stateDir, memorySearch: { model, remote: { baseUrl: `${api.url}/v1` } } });
    const first = await openOnce();
    expect(await first.embedBatch(["a note", "another"])).toHaveLength(2);
    expect(forms(api)).toEqual(["base64", "float", undefined].slice(0, form === undefined ? 3 : 2));
    api.reset();
    api.fail(fault);
    await first.embedQuery("a question");
    await (await openOnce()).embedQuery("in another process");
    expect(forms(api)).toEqual([form, form]);
    await (await openOnce("other")).embedQuery("with another model");
    expect(forms(api)[2]).toBe("base64");
  });

  test("is tried once where that is not the reason, and throws what was answered first", async () => {
    const { api, provider } = await openOnApi();
    api.fail({ times: 9, status: 500, ...withMessage("oops") });
    for (let call = 0; call < 2; call++)
      expect(String(await failureOf(provider.embedQuery("a question")))).toContain("500: oops");
    expect(forms(api)).toEqual(["base64", "float", undefined, "base64"]);
  });

  test.each([
    ["base64", "base64"],
    ["float", "float"],
    ["none", undefined],
  ])("%s is what is set, and no other is tried", async (encodingFormat, form) => {
    const { api, provider } = await openOnApi({ remote: { encodingFormat } });
    api.fail({ status: 400, ...withMessage("encoding_format is refused") });
    expect(String(await failureOf(provider.embedQuery("a question")))).toContain("encoding_format is refused");
    expect(forms(api)).toEqual([form]);
  });
});

describe("an answer", () => {
  const answered = async (body: unknown): Promise<number[][]> => {
    const { api, provider } = await openOnApi();
    api.fail({ body });
    return (await provider.embedBatch(["first", "second"])).map((vector) => Array.from(vector));
  };

  test.each(cases.oddVectors as [string, unknown][])("may hold %s", async (_, first) => {
    const data = [{ embedding: first }, { embedding: [3, 4] }];
    expect(await answered({ data })).toEqual(cases.twoVectors);
  });

  test("may be in another order than the texts", async () => {
    expect(await answered({ data: cases.mixedAnswer })).toEqual(cases.twoVectors);
  });

  test("with too few vectors, of other sizes or of no use is passed on for the host to judge", async () => {
    const { api, provider } = await openOnApi({ api: { dimensions: 8 } });
    const texts = ["first", "second"];
    api.fail({ behaviour: "short-count" });
    expect(await provider.embedBatch(texts)).toHaveLength(1);
    api.fail({ behaviour: "other-size" });
    expect((await provider.embedBatch(texts)).map(({ length }) => length)).toEqual([8, 4]);
    api.fail({ behaviour: "nan" });
    expect((await provider.embedBatch(texts))[0]?.[0]).toBeNaN();
    api.fail({ behaviour: "zero" });
    expect((await provider.embedBatch(texts))[0]?.[0]).toBe(0);
  });

  test("that does not say what it cost leaves that to an estimate", async () => {
    const { api, provider } = await openOnApi();
    const usages: number[] = [];
    for (const usage of [undefined, { total_tokens: 0 }, { total_tokens: "7" }]) {
      api.fail({ body: { data: [{ embedding: [1] }], usage } });
      await provider.embedBatch(["a note"], { onUsage: ({ tokens }) => usages.push(tokens) });
    }
    expect(usages).toEqual([]);
  });
});

describe("what is known of a model", () => {
  const openAi = { env: { OPENAI_API_KEY: "sk-1" } };
  const at = (baseUrl: string, model: string): ContextSetup => ({ memorySearch: { model, remote: { baseUrl } } });
  const local = "http://127.0.0.1:11434/v1";
  const far = "https://openrouter.ai/api/v1";

  test("OpenAI's limits and dimensions", async () => {
    expect(await open(openAi)).toMatchObject({
      id: "openai",
      model: "text-embedding-3-small",
      dimensions: 1536,
      maxInputTokens: 8191,
      maxBatchItems: 512,
      maxBatchTokens: 200_000,
      cacheKey: undefined,
    });
    const large = await open({ ...openAi, memorySearch: { model: "text-embedding-3-large" } });
    expect(large.dimensions).toBe(3072);
    const shorter = { model: "text-embedding-3-large", outputDimensionality: 256 };
    expect((await open({ ...openAi, memorySearch: shorter })).dimensions).toBe(256);
  });

  test.each(cases.prices)("OpenAI's price of %s", async (model, usdPerMillionTokens, batchUsdPerMillionTokens) => {
    const { price } = await open({ ...openAi, memorySearch: { model } });
    expect(price).toMatchObject({ usdPerMillionTokens, batchUsdPerMillionTokens });
    expect(price?.asOf).toMatch(/^20\d\d-\d\d-\d\d$/);
    expect(price?.source).toMatch(/^https:\/\/developers\.openai\.com\//);
  });

  test("another host has neither price nor dimensions, and an unknown model no price", async () => {
    const far3 = await open(at(far, "text-embedding-3-small"));
    expect([far3.price, far3.dimensions]).toEqual([undefined, undefined]);
    const unknown = await open({ ...openAi, memorySearch: { model: "text-embedding-9" }, model: "nomic-embed-text" });
    // The host's model replaces the configured one. A model of OpenAI gets no prefix.
    expect(unknown).toMatchObject({ model: "nomic-embed-text", price: undefined, cacheKey: undefined });
  });

  test.each([
    [local, "nomic-embed-text", 2042],
    [local, "mxbai-embed-large:latest", 512],
    [local, "bge-m3", 8192],
    [local, "embeddinggemma:300m", 2041],
    [far, "intfloat/multilingual-e5-large", 509],
    [far, "openai/text-embedding-3-small", 8191],
    [local, "snowflake-arctic-embed2", 8192],
    [local, "snowflake-arctic-embed:335m", 512],
    [far, "a-model-of-tomorrow", undefined],
  ])("at %s a text of %s may have %s tokens, the prefix counted", async (baseUrl, model, tokens) => {
    const provider = await open(at(baseUrl, model));
    expect(provider.maxInputTokens).toBe(tokens);
    expect(provider).toMatchObject({ dimensions: undefined, maxBatchItems: 128, maxBatchTokens: 64_000 });
  });

  test.each(cases.cacheKeys as [string, string, Record<string, unknown>, string | null][])(
    "the cache key depends on how notes are embedded: %s",
    async (_, model, memorySearch, key) => {
      const setup = (baseUrl: string, apiKey: string): ContextSetup => ({
        memorySearch: { ...memorySearch, model, remote: { baseUrl, apiKey } },
      });
      expect((await open(setup(local, "sk-1"))).cacheKey).toBe(key ?? undefined);
      expect((await open(setup(far, "sk-2"))).cacheKey).toBe(key ?? undefined);
    },
  );

  test("batches are there for OpenAI, and elsewhere where they are switched on", async () => {
    expect((await open(openAi)).batches).toBeDefined();
    expect((await open(at(far, "m"))).batches).toBeUndefined();
    const remote = { baseUrl: far, batch: { enabled: true } };
    expect((await open({ memorySearch: { remote } })).batches).toBeDefined();
  });
});

describe.each(["some-model", "nomic-embed-text"])("against an API that speaks OpenAI's language, model %s", (model) => {
  let api: EmbeddingApi;
  beforeAll(async () => {
    api = await startEmbeddingApi({ apiKey: "sk-right" });
  });
  afterAll(() => api.close());

  embeddingConformance(
    { describe, test },
    {
      plugin,
      get settings() {
        return { model, remote: { baseUrl: `${api.url}/v1`, apiKey: "sk-right" } };
      },
    },
  );
});
