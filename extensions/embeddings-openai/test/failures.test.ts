import { EmbeddingError, type EmbeddingFailure } from "@memslot/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { openOnApi, thrownBy } from "./support/api.ts";
import { stubFarEnd } from "./support/far-end.ts";
import { type Setup, open } from "./support/open.ts";

afterEach(() => vi.unstubAllGlobals());

const openAiError = (message: string, fields: Record<string, unknown> = {}): unknown => ({
  error: { message, type: "invalid_request_error", param: null, code: null, ...fields },
});

interface Row {
  name: string;
  status: number;
  body: unknown;
  headers?: Record<string, string>;
  kind: EmbeddingFailure;
  words: RegExp;
  retryAfterMs?: number;
}

const rows: Row[] = [
  {
    name: "a wrong key",
    status: 401,
    body: openAiError("Incorrect API key provided: sk-hid**********key.", { code: "invalid_api_key" }),
    kind: "auth",
    words: /answered 401 .*provided: sk-…\. The key is the one from remote\.apiKey$/,
  },
  {
    name: "no permission",
    status: 403,
    body: openAiError("You may not."),
    headers: { "retry-after": "5" },
    kind: "auth",
    retryAfterMs: 5000,
    words: /You may not\. The key/,
  },
  {
    name: "an empty account",
    status: 429,
    body: openAiError("You exceeded your current quota, please check your plan.", { code: "insufficient_quota" }),
    kind: "quota",
    words: /429 insufficient_quota: You exceeded your current quota/,
  },
  {
    name: "too many requests, with a time to wait",
    status: 429,
    body: openAiError("Rate limit reached for requests"),
    headers: { "retry-after": "20" },
    kind: "rate",
    words: /Rate limit reached/,
    retryAfterMs: 20_000,
  },
  {
    name: "too many requests, without one",
    status: 429,
    body: openAiError("Rate limit reached for requests"),
    kind: "rate",
    words: /Rate limit reached/,
  },
  {
    name: "a request that is larger than a minute's allowance",
    status: 429,
    body: openAiError("Request too large for the model on tokens per min (TPM): Limit 40000, Requested 60000."),
    kind: "input",
    words: /Request too large/,
  },
  { name: "a fault of the server", status: 500, body: openAiError("oops"), kind: "transient", words: /answered 500/ },
  {
    name: "no room for a text, as llama.cpp says it",
    status: 500,
    body: {
      error: {
        code: 500,
        message: "input (992 tokens) is too large to process. increase the physical batch size",
        type: "server_error",
      },
    },
    kind: "input",
    words: /too large to process/,
  },
  {
    name: "no room for a text, as OpenAI says it",
    status: 400,
    body: openAiError("This model's maximum context length is 8192 tokens, however you requested 9000 tokens."),
    kind: "input",
    words: /maximum context length/,
  },
  {
    name: "a text that is refused",
    status: 400,
    body: openAiError("'$.input' is invalid."),
    kind: "input",
    words: /400/,
  },
  {
    name: "a list that is refused, as FastAPI says it",
    status: 422,
    body: { detail: [{ type: "value_error", msg: "input has no words", input: "the whole note" }] },
    kind: "input",
    words: /answered 422: input has no words$/,
  },
  {
    name: "dimensions that the model cannot have",
    status: 400,
    body: openAiError("This model does not support specifying dimensions.", { param: "dimensions" }),
    kind: "auth",
    words: /specifying dimensions/,
  },
  {
    name: "a field that the server does not know",
    status: 400,
    body: openAiError("Unrecognized request argument supplied: input_type"),
    kind: "auth",
    words: /input_type/,
  },
  {
    name: "a model that is not there, as Ollama says it",
    status: 404,
    body: openAiError('model "some-model" not found, try pulling it first', { type: "api_error" }),
    kind: "auth",
    words: /Fetch it with: ollama pull some-model$/,
  },
  {
    name: "a model that is not there, as vLLM says it",
    status: 404,
    body: { object: "error", message: "The model `some-model` does not exist.", type: "NotFoundError", code: 404 },
    kind: "auth",
    words: /does not exist\. The model is "some-model" \(agents\.defaults\.memorySearch\.model\)/,
  },
  {
    name: "a model that is not there, as OpenRouter says it",
    status: 400,
    body: { error: { message: "some-model is not a valid model ID", code: 400 } },
    kind: "auth",
    words: /not a valid model ID\. The model is "some-model"/,
  },
  {
    name: "an address that is not there",
    status: 404,
    body: "404 page not found",
    kind: "auth",
    words: /The address http:\/\/127\.0\.0\.1:\d+\/v1\/embeddings does not exist there; check remote\.baseUrl$/,
  },
  { name: "a method that is not there", status: 405, body: "", kind: "auth", words: /answered 405\. The address/ },
  {
    name: "a server without embeddings, as llama.cpp says it",
    status: 501,
    body: { error: { message: "This server does not support embeddings. Start it with `--embeddings`", code: 501 } },
    kind: "auth",
    words: /Start it with `--embeddings`$/,
  },
  {
    name: "a page for people, with an error",
    status: 403,
    body: "<!DOCTYPE html><html><body>Blocked</body></html>",
    kind: "auth",
    words: /answered 403: a page for people\. The address .* does not exist there/,
  },
  {
    name: "a page for people, with a success",
    status: 200,
    body: "<!DOCTYPE html><html><body>Welcome</body></html>",
    kind: "transient",
    words: /answered \/embeddings with a page for people in place of vectors; check remote\.baseUrl$/,
  },
  { name: "something else", status: 200, body: { hello: 1 }, kind: "transient", words: /with something else in place/ },
  {
    name: "no array of vectors",
    status: 200,
    body: { data: [{ embedding: [[1]] }] },
    kind: "transient",
    words: /something else/,
  },
  {
    name: "base64 that is cut",
    status: 200,
    body: { data: [{ embedding: "AACAPwA=" }] },
    kind: "transient",
    words: /in place/,
  },
  {
    name: "an error inside of a success",
    status: 200,
    body: { error: { message: "Provider is busy", code: 429 } },
    kind: "rate",
    words: /answered 429: Provider is busy/,
  },
];

describe("what an answer means", () => {
  test.each(rows)("$name", async ({ status, body, headers, kind, words, retryAfterMs }) => {
    const { api, provider } = await openOnApi({ remote: { apiKey: "sk-hidden-key" } });
    api.fail({ status, body, ...(headers === undefined ? {} : { headers }) });
    const error = await thrownBy(provider.embedBatch(["a note"]));
    expect(EmbeddingError.is(error, kind)).toBe(true);
    expect((error as EmbeddingError).message).toMatch(words);
    expect((error as EmbeddingError).retryAfterMs).toBe(retryAfterMs);
    expect(String((error as EmbeddingError).message)).not.toContain("whole note");
    // The host tries again, not the SDK.
    expect(api.log).toHaveLength(1);
    expect(await provider.embedBatch(["a note"])).toHaveLength(1);
  });

  test("the page of a proxy is not shown", async () => {
    const { api, provider } = await openOnApi();
    api.fail({ behaviour: "html" });
    const error = await thrownBy(provider.embedBatch(["a note"]));
    expect(EmbeddingError.is(error, "transient")).toBe(true);
    expect((error as Error).message).toMatch(/^127\.0\.0\.1:\d+ answered 502: a page for people$/);
  });

  test("a base URL without /v1 is explained", async () => {
    const { api } = await openOnApi();
    const provider = await open({ memorySearch: { model: "some-model", remote: { baseUrl: api.url } } });
    const error = await thrownBy(provider.embedQuery("a question"));
    expect(EmbeddingError.is(error, "auth")).toBe(true);
    expect((error as Error).message).toContain(
      `The address ${api.url}/embeddings does not exist there; most servers want the base URL to end in /v1: ${api.url}/v1 (remote.baseUrl)`,
    );
  });

  test("where no model is set, the one that OpenAI has is not asked to be fetched", async () => {
    const { api, provider } = await openOnApi({ memorySearch: { model: undefined } });
    api.fail({ status: 404, body: openAiError('model "text-embedding-3-small" not found, try pulling it first') });
    const error = await thrownBy(provider.embedQuery("a question"));
    expect((error as Error).message).toMatch(/Set agents\.defaults\.memorySearch\.model to a model of this server/);
  });

  test.each<[name: string, setup: Setup, words: RegExp]>([
    [
      "to this machine",
      { env: { OPENAI_API_KEY: "sk-1" }, memorySearch: { remote: { baseUrl: "http://localhost:1/v1" } } },
      /No key was sent: OPENAI_API_KEY is sent over https:\/\/ to hosts of the internet only; set .*remote\.apiKey$/,
    ],
    [
      "anywhere, as there was none",
      { memorySearch: { remote: { baseUrl: "https://proxy.example.com/v1" } } },
      /No key was sent; set agents\.defaults\.memorySearch\.remote\.apiKey$/,
    ],
  ])("a refusal where no key was sent says so: %s", async (_, setup, words) => {
    stubFarEnd(() => Response.json(openAiError("Who are you?"), { status: 401 }));
    const error = await thrownBy((await open(setup)).embedQuery("a question"));
    expect((error as Error).message).toMatch(words);
  });
});

describe("no message holds a key", () => {
  test.each([
    [401, openAiError("Key sk-hidden-key with header gateway-hidden is wrong")],
    [400, openAiError("Neither hidden-basic nor hidden-query is known")],
    [429, openAiError("slow down", { code: "sk-hidden-key" })],
    [502, "<html>sk-hidden-key gateway-hidden</html>"],
    [200, openAiError("Bearer sk-hidden-key gateway-hidden")],
    [307, ""],
  ])("that the server has quoted it in: %i", async (status, body) => {
    const headers = { "x-gateway": "gateway-hidden", "x-other": "Basic hidden-basic" };
    const { api, provider } = await openOnApi({
      remote: { apiKey: "sk-hidden-key", headers },
      query: "key=hidden-query",
    });
    api.fail({ status, body, headers: { location: "http://127.0.0.1:9/sk-hidden-key/v1/embeddings?gateway-hidden" } });
    const error = (await thrownBy(provider.embedBatch(["a note"]))) as EmbeddingError;
    expect(EmbeddingError.is(error)).toBe(true);
    expect(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`).not.toContain("hidden");
  });
});
