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

test.each(cases.models as [string, ContextSetup, Record<string, unknown>][])("%s", async (_, setup, facts) => {
  const expected = Object.entries(facts).map(([name, value]) => [name, value ?? undefined]);
  expect(await open(setup)).toMatchObject(Object.fromEntries(expected));
});

test("a price has date and source; batches are for OpenAI, and for other servers if enabled", async () => {
  const { price, batches } = await open({ env: { OPENAI_API_KEY: "sk-1" } });
  expect(price).toMatchObject({
    asOf: expect.stringMatching(/^20\d\d-\d\d-\d\d$/),
    source: expect.stringMatching(/^https:\/\/developers\.openai\.com\//),
  });
  const remote = { baseUrl: "https://openrouter.ai/api/v1", batch: { enabled: true } };
  const other = await open({ memorySearch: { remote } });
  expect([batches !== undefined, other.batches !== undefined]).toEqual([true, true]);
});

test.each(cases.cacheKeys as [string, string, Record<string, unknown>, string | null][])(
  "the cache key depends on how notes are embedded: %s",
  async (_, model, memorySearch, key) => {
    for (const baseUrl of ["http://127.0.0.1:11434/v1", "https://openrouter.ai/api/v1"]) {
      const setup = { memorySearch: { ...memorySearch, model, remote: { baseUrl, apiKey: baseUrl } } };
      expect((await open(setup)).cacheKey).toBe(key ?? undefined);
    }
  },
);

describe.each(["some-model", "nomic-embed-text"])("the fake API with the model %s", (model) => {
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
