import { ProviderError, type EmbeddingFailure } from "@memslot/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type Setup, open, openOnApi, stubFarEnd, thrownBy } from "./support/open.ts";
import rows from "./data/failures.json" with { type: "json" };
import cases from "./data/cases.json" with { type: "json" };

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
  /** A regular expression. */
  words: string;
  retryAfterMs?: number;
}

describe("what an answer means", () => {
  test.each(rows as Row[])("$name", async ({ status, body, headers, kind, words, retryAfterMs }) => {
    const { api, provider } = await openOnApi({ remote: { apiKey: "sk-hidden-key", encodingFormat: "base64" } });
    api.fail({ status, body, ...(headers === undefined ? {} : { headers }) });
    const error = await thrownBy(provider.embedBatch(["a note"]));
    expect(ProviderError.is(error, kind)).toBe(true);
    expect((error as ProviderError).message).toMatch(new RegExp(words));
    expect((error as ProviderError).retryAfterMs).toBe(retryAfterMs);
    expect(String((error as ProviderError).message)).not.toContain("whole note");
    // The host tries again, not the SDK.
    expect(api.log).toHaveLength(1);
    expect(await provider.embedBatch(["a note"])).toHaveLength(1);
  });

  test("the page of a proxy is not shown", async () => {
    const { api, provider } = await openOnApi({ remote: { encodingFormat: "base64" } });
    api.fail({ behaviour: "html" });
    const error = await thrownBy(provider.embedBatch(["a note"]));
    expect(ProviderError.is(error, "transient")).toBe(true);
    expect((error as Error).message).toMatch(
      /^127\.0\.0\.1:\d+ answered 502: a web page of a gateway; is the server behind it running\?$/,
    );
  });

  test("a base URL without /v1 is explained", async () => {
    const { api } = await openOnApi();
    const provider = await open({ memorySearch: { model: "some-model", remote: { baseUrl: api.url } } });
    const error = await thrownBy(provider.embedQuery("a question"));
    expect(ProviderError.is(error, "auth")).toBe(true);
    expect((error as Error).message).toContain(
      `The URL ${api.url}/embeddings does not exist; most servers need a base URL that ends in /v1: ${api.url}/v1 (remote.baseUrl)`,
    );
  });

  test("where no model is set, the one that OpenAI has is not asked to be fetched", async () => {
    const { api, provider } = await openOnApi({ memorySearch: { model: undefined } });
    api.fail({ status: 404, body: openAiError('model "text-embedding-3-small" not found, try pulling it first') });
    const error = await thrownBy(provider.embedQuery("a question"));
    expect((error as Error).message).toMatch(/Set agents\.defaults\.memorySearch\.model to a model of this server/);
  });

  test.each(cases.withoutKey as [string, Setup, string][])(
    "a refusal where no key was sent says so: %s",
    async (_, setup, words) => {
      stubFarEnd(() => Response.json(openAiError("Who are you?"), { status: 401 }));
      const error = await thrownBy((await open(setup)).embedQuery("a question"));
      expect((error as Error).message).toMatch(new RegExp(words, "u"));
    },
  );
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
      remote: { apiKey: "sk-hidden-key", headers, encodingFormat: "float" },
      query: "key=hidden-query",
    });
    api.fail({ status, body, headers: { location: "http://127.0.0.1:9/sk-hidden-key/v1/embeddings?gateway-hidden" } });
    const error = (await thrownBy(provider.embedBatch(["a note"]))) as ProviderError;
    expect(ProviderError.is(error)).toBe(true);
    expect(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`).not.toContain("hidden");
  });
});
