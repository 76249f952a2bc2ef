import {
  type ChatReply,
  type ChatRequest,
  type FakeChatServer,
  callFrames,
  event,
  frame,
  says,
  startFakeChatServer,
} from "@memslot/fakes/chat";
import { afterEach, describe, expect, test } from "vitest";
import type { ChatModel, ModelReply, ModelRequest } from "./chat-model.ts";
import { chooseModel } from "./choose-model.ts";
import type { Patience } from "./endpoint-reply.ts";
import { createEventReader } from "./event-stream.ts";
import { createOpenAiModel } from "./openai-model.ts";
import data from "./test/replies.json" with { type: "json" };
import choices from "./test/choices.json" with { type: "json" };
import { openAiAt, request, searchTool, testKey, thrownBy } from "./test/model-lab.ts";

let server: FakeChatServer | undefined;
afterEach(async () => server?.close());
const tries = (): number => server?.requests.length ?? 0;

describe("the choice of a model", () => {
  test.each(choices.chosen as [string | null, Record<string, string>, string | null, number | null][])(
    "--model %s with %j is %s",
    (model, env, name, contextWindowTokens) => {
      const chosen = chooseModel({ model: model ?? undefined }, env);
      expect([chosen?.name ?? null, chosen?.contextWindowTokens ?? null]).toEqual([name, contextWindowTokens ?? null]);
    },
  );

  test.each(choices.refused as [string | null, Record<string, string>, string][])(
    "--model %s with %j is refused",
    async (model, env, message) => {
      const error = await thrownBy((async () => chooseModel({ model: model ?? undefined }, env))());
      expect(error).toMatchObject({ code: "CONFIG", message: expect.stringMatching(new RegExp(message)) });
    },
  );
});

describe("an endpoint that fails", () => {
  type Script = (request: ChatRequest, index: number) => ChatReply | Promise<ChatReply>;

  async function modelAt(script: Script, patience: Patience = {}): Promise<ChatModel> {
    server = await startFakeChatServer(script);
    const names = { where: server.baseUrl, keyName: "OPENAI_API_KEY", urlName: "OPENAI_BASE_URL" };
    const endpoint = { model: "test-model", apiKey: testKey, baseUrl: server.baseUrl, ...names };
    return createOpenAiModel(endpoint, { retryDelayMs: 1, ...patience, contextWindowTokens: 1000 });
  }

  const failureOf = async (script: Script, given: Partial<ModelRequest> = {}, patience: Patience = {}) =>
    await thrownBy((await modelAt(script, patience)).complete(request(given)));

  const refuses = (status: number, error: object = {}, headers: Record<string, string> = {}): ChatReply => ({
    status,
    headers,
    body: { error: { message: `no, ${testKey}\nnot so`, ...error } },
  });
  /** A reply, or the status, error and headers of a refusal. */
  type ScriptedReply = object & { refusal?: number; error?: object; headers?: Record<string, string> };
  /** Fails so often, and then answers. */
  const failing =
    (times: number, reply: ChatReply): Script =>
    (_request, index) =>
      index < times ? reply : says("at last");

  test.each(data.failures as [string, ScriptedReply, string, string, number][])(
    "%s is one line without the key, after the tries that may help",
    async (_name, reply, code, message, count) => {
      const { refusal, error: why, headers, ...whole } = reply;
      const error = await failureOf(() =>
        refusal === undefined ? (whole as ChatReply) : refuses(refusal, why, headers),
      );
      expect(error).toMatchObject({ name: "MemoryError", code, message: expect.stringMatching(new RegExp(message)) });
      expect(tries()).toBe(count);
    },
  );

  const began = frame({ content: "The code" });
  test.each<[string, ChatReply]>([
    ["an error in the stream", { pieces: [began, event({ error: { message: `overloaded ${testKey}` } })] }],
    ["an error with a status in the stream", { pieces: [began, event({ error: { message: "x", code: 502 } })] }],
    ["a connection that breaks", { pieces: [began], end: "cut" }],
    ["a connection that breaks within an event", { pieces: [began, 'data: {"choi'], end: "cut" }],
    ["an end within an event", { pieces: [began, 'data: {"choi'] }],
    ["an end in the middle", { pieces: [began] }],
    ["an event that is not JSON", { pieces: [began, "data: nonsense\n\n"] }],
  ])("%s is not tried again after words were shown, and is before", async (_name, reply) => {
    const shown: string[] = [];
    const onText = (delta: string): void => void shown.push(delta);
    const error = await failureOf(() => reply, { onText });
    const message = expect.stringMatching(/gave no whole answer.*ask again later: \S/) as string;
    expect(error).toMatchObject({ code: "UNAVAILABLE", message });
    expect([shown, tries()]).toEqual([["The code"], 1]);
    await server?.close();
    const model = await modelAt(failing(2, reply));
    expect((await model.complete(request())).text).toBe("at last");
    expect(tries()).toBe(3);
  });

  test("and comes back in time has only one answer to show", async () => {
    const shown: string[] = [];
    const model = await modelAt(failing(2, refuses(503)));
    const { text } = await model.complete(request({ onText: (delta) => shown.push(delta) }));
    expect([text, shown.join("")]).toEqual(["at last", "at last"]);
  });

  test("because it cannot count tokens is asked without the count, and remembered", async () => {
    const model = await modelAt(({ body }) => (body.stream_options ? refuses(400) : says("hi")));
    for (let times = 0; times < 2; times++) expect((await model.complete(request())).text).toBe("hi");
    expect(server?.requests.map(({ body }) => body.stream_options !== undefined)).toEqual([true, false, false]);
  });

  test("because it is not there is named at once", async () => {
    const model = await modelAt(() => says("x"), { retryDelayMs: 100_000 });
    await server?.close();
    const error = await thrownBy(model.complete(request()));
    expect(error.message).toMatch(/cannot reach http:\/\/127\.0\.0\.1:\d+\/v1: check OPENAI_BASE_URL.*ECONNREFUSED/);
  });

  test.each<[string, ChatReply]>([
    ["at once", "hang"],
    ["in the middle", { pieces: [began], end: "open" }],
  ])("by silence %s is given up and not tried again", async (_, reply) => {
    const error = await failureOf(() => reply, {}, { silenceMs: 200 });
    expect(error).toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringMatching(/did not answer within 0\.2 s; ask again/),
    });
    // On a slow machine the request may not have arrived.
    expect(tries()).toBeLessThanOrEqual(1);
    await server?.requests[0]?.closed;
  });

  test("an abort ends the request at once: before, in the middle and in the pause that the endpoint asks for", async () => {
    const aborted = { name: "AbortError" };
    const model = await modelAt(() => ({ pieces: [began + frame({ content: "two" })], end: "open" }));
    await expect(model.complete(request({ signal: AbortSignal.abort() }))).rejects.toMatchObject(aborted);
    expect(tries()).toBe(0);
    const inStream = new AbortController();
    const shown: string[] = [];
    const onText = (delta: string): void => {
      shown.push(delta);
      inStream.abort();
    };
    await expect(model.complete(request({ signal: inStream.signal, onText }))).rejects.toMatchObject(aborted);
    expect(shown).toEqual(["The code"]);
    await server?.requests[0]?.closed;
    await server?.close();

    const between = new AbortController();
    const waiting = await modelAt(({ closed }) => {
      void closed.then(() => between.abort());
      return refuses(503, {}, { connection: "close", "retry-after": "9" });
    });
    await expect(waiting.complete(request({ signal: between.signal }))).rejects.toMatchObject(aborted);
    expect(tries()).toBe(1);
  });
});

describe("the stream of an answer", () => {
  const done = "data: [DONE]\n\n";
  const search = { name: "memory_search", arguments: '{"query":"x"}' };

  async function ask(): Promise<ModelReply & { shown: string }> {
    let shown = "";
    const onText = (delta: string): void => void (shown += delta);
    const asked = request({ tools: [searchTool()], onText });
    return { ...(await openAiAt(server?.baseUrl ?? "").complete(asked)), shown };
  }

  /** The answer to a stream of these parts, and the text that was shown meanwhile. */
  async function answerTo(pieces: Iterable<string | Uint8Array>, headers: Record<string, string> = {}) {
    server = await startFakeChatServer(() => ({ pieces, headers }));
    return await ask();
  }

  const calling = (...fragments: object[]): string[] => [
    ...fragments.map((fragment) => frame({ tool_calls: [fragment] })),
    frame({}, "tool_calls"),
    done,
  ];

  const said = "门禁 🔑 naïve";
  const written = '{"query":"门禁 code"}';
  const wholeBody = [
    ": keep-alive\n\n",
    // One event may have several lines.
    'event: x\ndata: {"choices":\ndata: []}\n\n',
    ...callFrames([{ id: "a", name: "memory_search", arguments: written }], said),
  ].join("");
  /** The events of a stream, without comments and the kind of line end. */
  const eventsOf = (stream: string): string[] =>
    stream
      .split(/\n{2,}/)
      .map((part) => part.trim())
      .filter((part) => part !== "" && !part.startsWith(":"));

  test.each(["\n", "\r\n", "\r"])(
    "with the line end %j has the same events wherever its bytes are cut",
    async (lineEnd) => {
      const body = Buffer.from(wholeBody.replaceAll("\n", lineEnd));
      for (let cut = 0; cut <= body.length; cut += lineEnd === "\r\n" ? 1 : 5) {
        const pieces = [body.subarray(0, cut), body.subarray(cut)].filter(({ length }) => length > 0);
        const reader = createEventReader(() => undefined);
        const text = await reader.read(new Response(ReadableStream.from(pieces))).text();
        expect(eventsOf(text), `cut at ${cut}`).toEqual(eventsOf(wholeBody));
        expect(reader.isComplete(), `cut at ${cut}`).toBe(true);
      }
    },
  );

  test("in pieces of a byte is read whole, and each piece keeps the request alive", async () => {
    const bytes = Buffer.from(wholeBody.replaceAll("\n", "\r\n"));
    const pieces = Array.from(bytes, (byte) => Uint8Array.of(byte));
    let signs = 0;
    const reader = createEventReader(() => (signs += 1));
    const text = await reader.read(new Response(ReadableStream.from(pieces))).text();
    expect([eventsOf(text), text.includes("keep-alive")]).toEqual([eventsOf(wholeBody), false]);
    expect(signs).toBe(pieces.length + 1);
    const toolCalls = [{ id: "a", name: "memory_search", arguments: written }];
    expect(await answerTo(pieces)).toMatchObject({ text: said, shown: said, toolCalls });
  });

  test.each(data.calls as [string, object[], { id: string }[]][])(
    "is understood if its calls %s",
    async (_, fragments, toolCalls) => {
      expect((await answerTo(calling(...fragments))).toolCalls).toEqual(
        toolCalls.map(({ id, ...call }) => ({
          ...call,
          id: id.startsWith("^") ? expect.stringMatching(new RegExp(id)) : id,
        })),
      );
    },
  );

  test("may have fragments of calls in turns", async () => {
    const given = ["a", "b", "c"].map((id) => ({ id, ...search, arguments: `{"query":"${id}"}` }));
    expect((await answerTo(callFrames(given))).toolCalls).toEqual(given);
  });

  test.each<[string, string[], object]>([
    ["without a finish reason", [frame({ content: "hi" }), done], { text: "hi" }],
    ["without a last line", [frame({ content: "hi" }), frame({}, "stop")], { text: "hi" }],
    [
      "with the tokens of the request",
      [frame({ content: "hi" }, "stop"), event({ choices: [], usage: { prompt_tokens: 41 } }), done],
      { inputTokens: 41 },
    ],
    ["with a refusal", [frame({ content: null, refusal: "I will not." }, "stop"), done], { text: "I will not." }],
  ])("is an answer %s", async (_, pieces, expected) => {
    expect(await answerTo(pieces)).toMatchObject(expected);
  });

  test.each(["application/json", "text/event-stream", "text/plain"])(
    "may be one JSON text of the type %s",
    async (type) => {
      const tool_calls = [{ id: "a", type: "function", function: search }];
      const message = { role: "assistant", content: "hi", tool_calls };
      const body = JSON.stringify({ choices: [{ index: 0, message }], usage: { prompt_tokens: 5 } }, undefined, 2);
      expect(await answerTo([body.slice(0, 30), body.slice(30)], { "content-type": type })).toMatchObject({
        text: "hi",
        shown: "hi",
        toolCalls: [{ id: "a", ...search }],
        inputTokens: 5,
      });
    },
  );
});
