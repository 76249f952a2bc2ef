import { createServer, type Server } from "node:http";
import { createServer as createPlainServer, type AddressInfo } from "node:net";
import { ProviderError, type EmbeddingFailure, isAbort } from "@memslot/core";
import { startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { type ContextSetup, failureOf } from "@memslot/fakes/plugin-context";
import { afterwards } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import { afterEach, expect, test, vi } from "vitest";
import { open, openOnApi, stubHosts } from "./support/open.ts";
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

test.each(rows as Row[])("$name: the failure is $kind, and no request is repeated", async (row) => {
  const { status, body, headers, kind, words, retryAfterMs } = row;
  const { api, provider } = await openOnApi({ remote: { apiKey: "sk-hidden-key", encodingFormat: "base64" } });
  api.fail({ status, body, headers });
  const error = await failureOf(provider.embedBatch(["a note"]));
  expect(error).toMatchObject({ kind, message: expect.stringMatching(words) });
  expect(error).toHaveProperty("retryAfterMs", retryAfterMs);
  expect(error.message).not.toContain("whole note");
  expect(api.log).toHaveLength(1);
  expect(await provider.embedBatch(["a note"])).toHaveLength(1);
});

test("the page of a proxy, a base URL without /v1 and the default model at another server are explained", async () => {
  const { api, provider } = await openOnApi({
    remote: { encodingFormat: "base64" },
    memorySearch: { model: undefined },
  });
  api.fail({ behaviour: "html" });
  expect((await failureOf(provider.embedBatch(["a note"]))).message).toMatch(
    /^127\.0\.0\.1:\d+ answered 502: a web page of a gateway; is the server behind it running\?$/,
  );
  const wrong = await open({ memorySearch: { model: "some-model", remote: { baseUrl: api.url } } });
  expect(await failureOf(wrong.embedQuery("a question"))).toMatchObject({
    kind: "auth",
    message: expect.stringContaining(
      `The URL ${api.url}/embeddings does not exist; most servers need a base URL that ends in /v1: ${api.url}/v1 (remote.baseUrl)`,
    ),
  });
  api.fail({ status: 404, body: openAiError('model "text-embedding-3-small" not found, try pulling it first') });
  expect((await failureOf(provider.embedQuery("a question"))).message).toMatch(
    /Set agents\.defaults\.memorySearch\.model to a model of this server/,
  );
});

test.each(cases.withoutKey as [string, ContextSetup, string][])(
  "a refusal of a request without a key says so: %s",
  async (_, setup, words) => {
    stubHosts(() => Response.json(openAiError("Who are you?"), { status: 401 }));
    expect((await failureOf((await open(setup)).embedQuery("a question"))).message).toMatch(new RegExp(words, "u"));
  },
);

test.each([
  [401, openAiError("Key sk-hidden-key with header gateway-hidden is wrong")],
  [400, openAiError("Neither hidden-basic nor hidden-query is known")],
  [429, openAiError("slow down", { code: "sk-hidden-key" })],
  [502, "<html>sk-hidden-key gateway-hidden</html>"],
  [200, openAiError("Bearer sk-hidden-key gateway-hidden")],
  [307, ""],
])("no message contains a key that the server quotes: %i", async (status, body) => {
  const headers = { "x-gateway": "gateway-hidden", "x-other": "Basic hidden-basic" };
  const { api, provider } = await openOnApi({
    remote: { apiKey: "sk-hidden-key", headers, encodingFormat: "float" },
    query: "?key=hidden-query",
  });
  api.fail({ status, body, headers: { location: "http://127.0.0.1:9/sk-hidden-key/v1/embeddings?gateway-hidden" } });
  const error = await failureOf(provider.embedBatch(["a note"]));
  expect(ProviderError.is(error)).toBe(true);
  expect(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`).not.toContain("hidden");
});

async function listening(server: Server | ReturnType<typeof createPlainServer>): Promise<string> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  afterwards(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const closedPort = async (): Promise<string> => {
  const api = await startEmbeddingApi();
  await api.close();
  return `${api.url}/v1`;
};
const plain = async (answer: string | undefined): Promise<string> =>
  `http://${await listening(createPlainServer((socket) => (answer === undefined ? socket.destroy() : socket.end(answer))))}/v1`;
const web = async (): Promise<string> => `https://${await listening(createServer((_, response) => response.end()))}/v1`;

async function failureAt(baseUrl: string): Promise<string> {
  const provider = await open({ memorySearch: { model: "some-model", remote: { baseUrl, apiKey: "sk-hidden-key" } } });
  const error = await failureOf(provider.embedQuery("a question"));
  expect(ProviderError.is(error, "transient")).toBe(true);
  expect(error.stack).not.toContain("hidden");
  return error.message;
}

test.each<[string, () => Promise<string>, RegExp]>([
  ["is not running", closedPort, /^cannot reach http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\): is the server running\?$/],
  ["has an unknown name", async () => "http://no-such-host.invalid:8080/v1", /:8080 \((?:ENOTFOUND|EAI_AGAIN)\): /],
  ["does not speak HTTP", () => plain("SSH-2.0-OpenSSH_9.9\r\n"), /: it does not speak HTTP; is https:\/\/ meant\?$/],
  ["does not speak TLS", web, /\(ERR_SSL_\w+\): it does not speak TLS/],
  ["closes the connection", () => plain(undefined), /the connection ended before the answer/],
])("a server that %s", async (_, start, words) => {
  expect(await failureAt(await start())).toMatch(words);
});

test.each(cases.systemErrors as [string, string][])("the system error %s is explained", async (code, words) => {
  stubHosts(() => {
    const cause = Object.assign(new Error(`the words of ${code}`), { code });
    throw new TypeError("fetch failed", { cause });
  });
  expect(await failureAt("https://far.example.com/v1")).toMatch(new RegExp(words, "u"));
});

test("an abort ends a request at once with its reason", async () => {
  const { api, provider } = await openOnApi();
  for (const [behaviour, reason] of [
    ["hang", undefined],
    ["drip", new Error("too late")],
  ] as const) {
    api.reset();
    api.fail({ behaviour });
    const controller = new AbortController();
    const call = failureOf(provider.embedBatch(["a note"], { signal: controller.signal }));
    await eventually(() => api.log.length === 1);
    controller.abort(reason);
    expect(await call).toSatisfy(reason === undefined ? isAbort : (error) => error === reason);
  }
  expect(await provider.embedBatch(["a note"])).toHaveLength(1);
});

test("a redirect is not followed: neither notes nor keys go to another host", async () => {
  const other = await startEmbeddingApi();
  afterwards(() => other.close());
  const { api, provider } = await openOnApi({ remote: { apiKey: "sk-hidden-key" } });
  for (const status of [301, 302, 303, 307, 308]) {
    api.fail({ status, body: "", headers: { location: `${other.url}/v1/embeddings?next=1` } });
    const words = `with a redirect to ${other.url}/v1/embeddings, and redirects are not followed.*set remote.baseUrl to ${other.url}/v1$`;
    expect(await failureOf(provider.embedBatch(["a note"]))).toMatchObject({
      kind: "auth",
      message: expect.stringMatching(words),
    });
  }
  expect([other.log.length, api.log.length]).toEqual([0, 5]);
});

const long = "x".repeat(3_000_000);
test.each<[Parameters<Awaited<ReturnType<typeof startEmbeddingApi>>["fail"]>[0], RegExp]>([
  [{ behaviour: "bomb" }, /sends more than \d\.\d MB/],
  [{ behaviour: "endless" }, /sends more than \d\.\d MB/],
  [{ body: long }, /sends more than/],
  [{ status: 500, body: { error: { message: long } } }, /./],
  [{ behaviour: "disconnect" }, /the connection ended before the answer was complete/],
  [{ body: '{"data": [', headers: { "content-type": "application/json" } }, /incomplete or not JSON/],
])("an answer that is too large or incomplete is not read to its end: %#", async (fault, words) => {
  const { api, provider } = await openOnApi({ remote: { encodingFormat: "float" } });
  api.fail(fault);
  const error = await failureOf(provider.embedBatch(["a note", "another"]));
  expect(error).toMatchObject({ kind: "transient", message: expect.stringMatching(words) });
  if (fault.behaviour) expect(error).toHaveProperty("hasCost", true);
  expect(await provider.embedBatch(["a note"])).toHaveLength(1);
});
