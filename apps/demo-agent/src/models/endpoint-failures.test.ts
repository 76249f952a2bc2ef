import { afterEach, expect, test } from "vitest";
import type { ModelRequest } from "./chat-model.ts";
import type { Patience } from "./endpoint-reply.ts";
import { createOpenAiModel } from "./openai.ts";
import {
  type ChatReply,
  type ChatRequest,
  type FakeChatServer,
  event,
  frame,
  says,
  startFakeChatServer,
} from "@memslot/fakes/chat";
import { request, testKey, thrownBy } from "./test/model-lab.ts";

let server: FakeChatServer | undefined;
afterEach(async () => server?.close());

type Script = (request: ChatRequest, index: number) => ChatReply | Promise<ChatReply>;

async function modelAt(script: Script, patience: Patience = {}): Promise<ReturnType<typeof createOpenAiModel>> {
  server = await startFakeChatServer(script);
  const names = { where: server.baseUrl, keyName: "OPENAI_API_KEY", urlName: "OPENAI_BASE_URL" };
  const endpoint = { model: "test-model", apiKey: testKey, baseUrl: server.baseUrl, ...names };
  return createOpenAiModel(endpoint, { retryDelayMs: 1, ...patience, contextWindowTokens: 1000 });
}

async function failureOf(
  script: Script,
  given: Partial<ModelRequest> = {},
  patience: Patience = {},
): Promise<Error & { code?: string }> {
  const model = await modelAt(script, patience);
  return thrownBy(model.complete(request(given)));
}

const refuses = (status: number, error: object, headers: Record<string, string> = {}): ChatReply => ({
  status,
  headers,
  body: { error: { message: `no, ${testKey}\nnot so`, ...error } },
});
const tries = (): number => server?.requests.length ?? 0;
/** Fails as often as told, and then answers. */
const failing =
  (times: number, reply: ChatReply): Script =>
  (_request, index) =>
    index < times ? reply : says("at last");

test.each([
  [401, "CONFIG", /refused the key \(401\): check OPENAI_API_KEY$/],
  [403, "CONFIG", /refused the key \(403\): check OPENAI_API_KEY$/],
  [404, "CONFIG", /knows no model "test-model" \(404\): check --model and OPENAI_BASE_URL$/],
  [307, "CONFIG", /another address \(307\): write that one into OPENAI_BASE_URL$/],
  [405, "UNAVAILABLE", /an error \(405\), check --model and OPENAI_BASE_URL: no, \[key\] not so$/],
])("%i is told in one line without the key, and not tried again", async (status, code, message) => {
  const error = await failureOf(() => refuses(status, {}, { location: "http://127.0.0.1:1/v1" }));
  expect(error).toMatchObject({ name: "MemoryError", code, message: expect.stringMatching(message) });
  expect(error.message).toContain(server?.baseUrl ?? "?");
  expect(tries()).toBe(1);
});

test.each([
  [429, "for now \\(429\\), ask again later: no, \\[key\\] not so"],
  [500, "whole answer \\(500\\), ask again later"],
  [503, "whole answer \\(503\\), ask again later"],
  [408, "whole answer \\(408\\), ask again later"],
])("%i is tried twice more, and then told", async (status, message) => {
  const error = await failureOf(() => refuses(status, {}));
  expect(error).toMatchObject({ code: "UNAVAILABLE", message: expect.stringMatching(new RegExp(message)) });
  expect(tries()).toBe(3);
});

test("an endpoint that comes back in time has only one answer to show", async () => {
  const shown: string[] = [];
  const model = await modelAt(failing(2, refuses(503, {})));
  const { text } = await model.complete(request({ onText: (delta) => shown.push(delta) }));
  expect([text, shown.join("")]).toEqual(["at last", "at last"]);
});

test("an account without credit is not asked again", async () => {
  const error = await failureOf(() => refuses(429, { code: "insufficient_quota" }));
  expect(error.message).toMatch(/takes no more requests \(429\), check your plan there/);
  expect(tries()).toBe(1);
});

test("a short Retry-After is waited for, a long one is not", async () => {
  const model = await modelAt(failing(1, refuses(429, {}, { "retry-after": "0.2" })));
  const before = performance.now();
  expect((await model.complete(request())).text).toBe("at last");
  // Less than what was asked for would be the fault; how much more it is says nothing.
  expect(performance.now() - before).toBeGreaterThan(190);
  await server?.close();
  await failureOf(() => refuses(429, {}, { "retry-after": "11" }));
  expect(tries()).toBe(1);
  await server?.close();
  await failureOf(() => refuses(503, {}, { "retry-after": new Date(Date.now() + 60_000).toUTCString() }));
  expect(tries()).toBe(1);
});

test("a conversation that is too long is told apart, whatever the words", async () => {
  for (const error of [
    { code: "context_length_exceeded", message: "too much" },
    { message: "This model's maximum context length is 8192 tokens." },
    { type: "exceed_context_size_error" },
  ]) {
    const thrown = await failureOf(() => refuses(400, error));
    expect(thrown).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringMatching(/too long for test-model/),
    });
    expect(tries()).toBe(1);
    await server?.close();
  }
});

test("an endpoint that does not know how to count tokens is asked without it, and remembered", async () => {
  const model = await modelAt(({ body }) => (body.stream_options ? refuses(400, {}) : says("hi")));
  expect((await model.complete(request())).text).toBe("hi");
  expect((await model.complete(request())).text).toBe("hi");
  expect(server?.requests.map(({ body }) => body.stream_options !== undefined)).toEqual([true, false, false]);
});

test("a request that is bad in itself is made twice at most", async () => {
  const error = await failureOf(() => refuses(422, {}));
  expect(error.message).toMatch(/answered with an error \(422\)/);
  expect(tries()).toBe(2);
});

const broken: [string, ChatReply][] = [
  [
    "an error in the stream",
    { pieces: [frame({ content: "The code" }), event({ error: { message: `overloaded ${testKey}` } })] },
  ],
  [
    "an error with a status in the stream",
    { pieces: [frame({ content: "The code" }), event({ error: { message: "x", code: 502 } })] },
  ],
  ["a connection that breaks", { pieces: [frame({ content: "The code" })], end: "cut" }],
  [
    "a connection that breaks within an event",
    { pieces: [frame({ content: "The code" }), 'data: {"choi'], end: "cut" },
  ],
  ["an end within an event", { pieces: [frame({ content: "The code" }), 'data: {"choi'] }],
  ["an end in the middle", { pieces: [frame({ content: "The code" })] }],
  ["an event that is no JSON", { pieces: [frame({ content: "The code" }), "data: nonsense\n\n"] }],
];

test.each(broken)("%s after words were shown is told, and not tried again", async (_name, reply) => {
  const shown: string[] = [];
  const error = await failureOf(() => reply, { onText: (delta) => shown.push(delta) });
  expect(error).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringMatching(/gave no whole answer.*ask again later: \S/),
  });
  expect(shown).toEqual(["The code"]);
  expect(tries()).toBe(1);
});

test.each(broken)("%s where nobody watches is tried again", async (_name, reply) => {
  const model = await modelAt(failing(2, reply));
  expect((await model.complete(request())).text).toBe("at last");
  expect(tries()).toBe(3);
});

test.each<[string, ChatReply, RegExp]>([
  ["an empty stream", { pieces: [] }, /an empty answer$/],
  ["a stream of comments", { pieces: [": hello\n\n"] }, /holds no message$/],
  ["nothing but the end", { pieces: ["data: [DONE]\n\n"] }, /holds no message$/],
  ["a page of HTML", { pieces: ["\n<!doctype html>", "<h1>Welcome</h1>"] }, /a page of HTML$/],
  [
    "a page of HTML with a status",
    { status: 502, body: "<html><h1>Bad gateway</h1></html>" },
    /\(502\).*a page of HTML$/,
  ],
  ["another JSON text", { body: { hello: 1 } }, /holds no message$/],
  ["JSON that is cut short", { body: '{"choices": [' }, /gave no whole answer/],
  ["an error with status 200", { body: { error: { message: "model is loading" } } }, /model is loading$/],
])("%s is no answer", async (_name, reply, message) => {
  const error = await failureOf(() => reply);
  expect(error).toMatchObject({ code: "UNAVAILABLE", message: expect.stringMatching(message) });
  expect(tries()).toBe(3);
});

test("an endpoint that is not there is named at once", async () => {
  const model = await modelAt(() => says("x"), { retryDelayMs: 100_000 });
  await server?.close();
  const error = await thrownBy(model.complete(request()));
  expect(error.message).toMatch(/cannot reach http:\/\/127\.0\.0\.1:\d+\/v1: check OPENAI_BASE_URL.*ECONNREFUSED/);
});

test("silence ends a request, also in the middle, and is not tried again", async () => {
  for (const reply of ["hang" as const, { pieces: [frame({ content: "The" })], end: "open" as const }]) {
    const error = await failureOf(() => reply, {}, { silenceMs: 1000 });
    expect(error).toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringMatching(/no answer within 1 s; ask again/),
    });
    // On a slow machine it may not even have come that far.
    expect(tries()).toBeLessThanOrEqual(1);
    await server?.requests[0]?.closed;
    await server?.close();
  }
});

test("an abort ends the request at once, before, in the middle and between tries", async () => {
  const aborted = await modelAt(() => says("x"));
  await expect(aborted.complete(request({ signal: AbortSignal.abort() }))).rejects.toMatchObject({
    name: "AbortError",
  });
  expect(tries()).toBe(0);
  await server?.close();

  const inStream = new AbortController();
  const shown: string[] = [];
  const onText = (delta: string): void => {
    shown.push(delta);
    inStream.abort();
  };
  const model = await modelAt(() => ({ pieces: [frame({ content: "one" }) + frame({ content: "two" })], end: "open" }));
  await expect(model.complete(request({ signal: inStream.signal, onText }))).rejects.toMatchObject({
    name: "AbortError",
  });
  expect(shown).toEqual(["one"]);
  await server?.requests[0]?.closed;
  await server?.close();

  const between = new AbortController();
  const waiting = await modelAt(
    ({ closed }) => {
      void closed.then(() => between.abort());
      return refuses(503, {}, { connection: "close" });
    },
    { retryDelayMs: 9000 },
  );
  await expect(waiting.complete(request({ signal: between.signal }))).rejects.toMatchObject({ name: "AbortError" });
  expect(tries()).toBe(1);
});
