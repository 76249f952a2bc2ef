import { afterEach, expect, test } from "vitest";
import type { ChatModel } from "./chat-model.ts";
import { createGeminiModel } from "./gemini.ts";
import { runToolLoop } from "./tool-loop.ts";
import { type ChatReply, type FakeChatServer, event, startFakeChatServer } from "@memslot/fakes/chat";
import { never, request, searchTool, testKey, thrownBy } from "./test/model-lab.ts";

let server: FakeChatServer | undefined;
afterEach(async () => server?.close());

async function geminiAt(
  reply: Parameters<typeof startFakeChatServer>[0],
  model = "gemini-2.5-flash",
): Promise<ChatModel> {
  server = await startFakeChatServer(reply);
  const names = { where: "the Gemini API", keyName: "GEMINI_API_KEY", urlName: "GEMINI_BASE_URL" };
  const endpoint = { model, apiKey: testKey, baseUrl: server.baseUrl, ...names };
  return createGeminiModel(endpoint, { contextWindowTokens: 1000, retryDelayMs: 1, silenceMs: 5000 });
}

const part = (parts: object[], finishReason?: string): string =>
  event({ candidates: [{ content: { role: "model", parts }, ...(finishReason && { finishReason }) }] });
const streams = (...pieces: string[]): ChatReply => ({ pieces });
const says = (text: string): ChatReply => streams(part([{ text }], "STOP"));
const refuses = (status: number, message: string, word = "X"): ChatReply => ({
  status,
  body: { error: { code: status, message: `${message} ${testKey}`, status: word, details: [{ reason: word }] } },
});
const search = { name: "memory_search", args: { query: "gate code" } };

/** The contents of a request, as Gemini gets them. */
function contentsOf(index: number): unknown {
  return server?.requests[index]?.body["contents"];
}

test("the model calls a tool, sees its answer, and answers", async () => {
  const model = await geminiAt((_request, index) =>
    index === 0
      ? streams(
          part([{ text: "Let me think.", thought: true }]),
          part([{ text: "I look " }]),
          part([{ text: "it up." }, { functionCall: search }]),
          part([{ functionCall: { id: "own", ...search } }], "STOP"),
        )
      : says("It is HX-19."),
  );
  const tool = searchTool();
  const shown: string[] = [];
  const { text, messages } = await runToolLoop({
    model,
    system: "You are a test.",
    messages: [{ role: "user", text: "What is the gate code?" }],
    tools: [tool],
    signal: never,
    onText: (delta) => shown.push(delta),
  });
  expect(text).toBe("It is HX-19.");
  expect(shown).toEqual(["I look ", "it up.", "It is HX-19."]);
  expect(tool.inputs).toEqual([{ query: "gate code" }, { query: "gate code" }]);
  const id = messages[1]?.role === "tool" ? messages[1].toolCallId : "";
  expect(id).toMatch(/^[0-9a-f]{9}$/);
  const [first] = server?.requests ?? [];
  expect(first?.path).toBe("/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
  expect(first?.headers["x-goog-api-key"]).toBe(testKey);
  expect(first?.body).toMatchObject({
    systemInstruction: { parts: [{ text: "You are a test." }] },
    tools: [{ functionDeclarations: [{ name: "memory_search", parametersJsonSchema: tool.inputSchema }] }],
    toolConfig: { functionCallingConfig: { mode: "AUTO" } },
  });
  const response = { status: "ok", results: ["HX-19"] };
  expect(contentsOf(1)).toEqual([
    { role: "user", parts: [{ text: "What is the gate code?" }] },
    {
      role: "model",
      parts: [
        { text: "I look it up." },
        { functionCall: { id, ...search } },
        { functionCall: { id: "own", ...search } },
      ],
    },
    {
      role: "user",
      parts: [
        { functionResponse: { id, name: "memory_search", response } },
        { functionResponse: { id: "own", name: "memory_search", response } },
      ],
    },
  ]);
});

test("a thought signature goes back beside its call", async () => {
  const model = await geminiAt(
    (_request, index) =>
      index === 0
        ? streams(part([{ functionCall: search, thoughtSignature: "c2lnbmVk" }, { functionCall: search }], "STOP"))
        : says("done"),
    "gemini-3-pro-preview",
  );
  await runToolLoop({
    model,
    system: "",
    messages: [{ role: "user", text: "x" }],
    tools: [searchTool()],
    signal: never,
  });
  expect(contentsOf(1)).toMatchObject([
    {},
    { parts: [{ thoughtSignature: "c2lnbmVk" }, { functionCall: search }] },
    {},
  ]);
  expect(JSON.stringify(contentsOf(1)).match(/thoughtSignature/g)).toHaveLength(1);
});

test("after a restart the word that stands in for a signature goes back, to models that insist on one", async () => {
  const toolCalls = ["a", "b"].map((id) => ({ id, name: "memory_search", arguments: "{broken" }));
  const messages = [
    { role: "user" as const, text: "x" },
    { role: "assistant" as const, text: "", toolCalls },
    ...toolCalls.map(({ id }) => ({ role: "tool" as const, toolCallId: id, toolName: "memory_search", text: "[1]" })),
  ];
  const functionCall = (id: string): object => ({ functionCall: { id, name: "memory_search", args: {} } });
  for (const [name, expected] of [
    ["gemini-3-pro", { ...functionCall("a"), thoughtSignature: "skip_thought_signature_validator" }],
    ["gemini-2.5-pro", functionCall("a")],
  ] as const) {
    const model = await geminiAt(() => says("ok"), name);
    await model.complete(request({ messages }));
    expect(contentsOf(0)).toMatchObject([
      {},
      { parts: [expected, functionCall("b")] },
      { parts: [{ functionResponse: { response: { output: "[1]" } } }, {}] },
    ]);
    expect(JSON.stringify(contentsOf(0)).includes("thoughtSignature")).toBe(name === "gemini-3-pro");
    await server?.close();
  }
});

test("both sides take turns, and the user begins", async () => {
  const model = await geminiAt(() => says("ok"));
  await model.complete(
    request({
      messages: [
        { role: "assistant", text: "one" },
        { role: "assistant", text: "two" },
        { role: "user", text: "three" },
        { role: "user", text: "four" },
      ],
    }),
  );
  expect(contentsOf(0)).toEqual([
    { role: "user", parts: [{ text: "(continued)" }] },
    { role: "model", parts: [{ text: "one" }, { text: "two" }] },
    { role: "user", parts: [{ text: "three" }, { text: "four" }] },
  ]);
});

test("where words are wanted the tools are shown and forbidden", async () => {
  const model = await geminiAt(() => says("ok"));
  await model.complete(request({ tools: [searchTool()], mayCallTools: false }));
  expect(server?.requests[0]?.body["toolConfig"]).toEqual({ functionCallingConfig: { mode: "NONE" } });
});

test("an answer means the same wherever its bytes are cut", async () => {
  const usage = event({ usageMetadata: { promptTokenCount: 12 } });
  const body = Buffer.from(
    [": ping\n", part([{ text: "门禁 🔑" }]), part([{ functionCall: search }], "STOP"), usage].join(""),
  );
  let cut = 0;
  const model = await geminiAt(() => ({ pieces: [body.subarray(0, cut), body.subarray(cut)] }));
  for (cut = 0; cut <= body.length; cut += 7) {
    const reply = await model.complete(request({ tools: [searchTool()] }));
    expect(reply, `cut at ${cut}`).toMatchObject({
      text: "门禁 🔑",
      toolCalls: [{ name: "memory_search" }],
      inputTokens: 12,
    });
  }
});

test.each<[string, ChatReply, number, string, RegExp]>([
  [
    "a wrong key",
    refuses(400, "API key not valid.", "API_KEY_INVALID"),
    1,
    "CONFIG",
    /^the Gemini API refused the key \(400\): check GEMINI_API_KEY$/,
  ],
  ["a forbidden key", refuses(403, "no"), 1, "CONFIG", /refused the key \(403\)/],
  ["an unknown model", refuses(404, "no"), 1, "CONFIG", /knows no model "gemini-2\.5-flash" \(404\): check --model/],
  [
    "too many tokens",
    refuses(400, "The input token count (9) exceeds the maximum number of tokens allowed (1)."),
    1,
    "INVALID_ARGUMENT",
    /too long for gemini/,
  ],
  ["another refusal", refuses(400, "bad schema"), 1, "UNAVAILABLE", /an error \(400\), check .*: bad schema \[key\]$/],
  [
    "too many requests",
    refuses(429, "slow down"),
    3,
    "UNAVAILABLE",
    /no more requests for now \(429\), ask again later: slow down \[key\]$/,
  ],
  [
    "an overloaded server",
    refuses(503, "overloaded"),
    3,
    "UNAVAILABLE",
    /\(503\), ask again later: overloaded \[key\]$/,
  ],
  [
    "an error in the stream",
    streams(
      part([{ text: "a" }]),
      event({ error: { code: 503, message: `overloaded ${testKey}`, status: "UNAVAILABLE" } }),
    ),
    3,
    "UNAVAILABLE",
    /\(503\), ask again later: overloaded \[key\]$/,
  ],
  [
    "a connection that breaks",
    { pieces: [part([{ text: "a" }])], end: "cut" },
    3,
    "UNAVAILABLE",
    /gave no whole answer/,
  ],
  ["an end in the middle", streams(part([{ text: "a" }])), 3, "UNAVAILABLE", /broke off in the middle/],
  ["an end within an event", streams(part([{ text: "a" }]), 'data: {"candi'), 3, "UNAVAILABLE", /gave no whole answer/],
  ["an empty stream", streams(), 3, "UNAVAILABLE", /an empty answer/],
  ["a page of HTML", streams("<html>"), 3, "UNAVAILABLE", /a page of HTML/],
  [
    "a call that it could not write",
    streams(part([], "MALFORMED_FUNCTION_CALL")),
    3,
    "UNAVAILABLE",
    /empty \(MALFORMED_FUNCTION_CALL\)/,
  ],
  [
    "a blocked question",
    streams(event({ promptFeedback: { blockReason: "SAFETY" } })),
    3,
    "UNAVAILABLE",
    /empty \(SAFETY\)/,
  ],
])("%s is told in one line without the key", async (_name, reply, requests, code, message) => {
  const model = await geminiAt(() => reply);
  const error = await thrownBy(model.complete(request()));
  expect(error).toMatchObject({ name: "MemoryError", code, message: expect.stringMatching(message) });
  expect(server?.requests).toHaveLength(requests);
});

test("what was shown is not asked for again", async () => {
  const model = await geminiAt(() => ({ pieces: [part([{ text: "a" }])], end: "cut" }));
  await thrownBy(model.complete(request({ onText: () => undefined })));
  expect(server?.requests).toHaveLength(1);
});

test("an abort in the middle of a stream ends it, also where more is there already", async () => {
  const model = await geminiAt(() => ({ pieces: [part([{ text: "a" }]) + part([{ text: "b" }])], end: "open" }));
  const controller = new AbortController();
  const shown: string[] = [];
  const onText = (delta: string): void => {
    shown.push(delta);
    controller.abort();
  };
  const running = model.complete(request({ signal: controller.signal, onText }));
  await expect(running).rejects.toMatchObject({ name: "AbortError" });
  await server?.requests[0]?.closed;
  expect(shown).toEqual(["a"]);
});
