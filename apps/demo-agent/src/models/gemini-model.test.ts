import { type ChatReply, type FakeChatServer, event, startFakeChatServer } from "@memslot/fakes/chat";
import { afterEach, expect, test } from "vitest";
import type { ChatModel } from "./chat-model.ts";
import { chooseModel } from "./choose-model.ts";
import { createGeminiModel } from "./gemini-model.ts";
import { runToolLoop } from "./tool-loop.ts";
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
  return createGeminiModel(endpoint, { contextWindowTokens: 1000, retryDelayMs: 1 });
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
const contentsOf = (index: number): unknown => server?.requests[index]?.body["contents"];

test("the model calls a tool, sees its answer, and answers; a thought signature goes back beside its call", async () => {
  const model = await geminiAt((_request, index) =>
    index === 0
      ? streams(
          part([{ text: "Let me think.", thought: true }]),
          part([{ text: "I look " }]),
          part([{ text: "it up." }, { functionCall: search, thoughtSignature: "c2lnbmVk" }]),
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
  expect([text, shown]).toEqual(["It is HX-19.", ["I look ", "it up.", "It is HX-19."]]);
  expect(tool.inputs).toEqual([{ query: "gate code" }, { query: "gate code" }]);
  const id = messages[1]?.role === "tool" ? messages[1].toolCallId : "";
  const [first] = server?.requests ?? [];
  expect(first?.path).toBe("/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
  expect(first?.headers["x-goog-api-key"]).toBe(testKey);
  expect(first?.body).toMatchObject({
    systemInstruction: { parts: [{ text: "You are a test." }] },
    tools: [{ functionDeclarations: [{ name: "memory_search", parametersJsonSchema: tool.inputSchema }] }],
    toolConfig: { functionCallingConfig: { mode: "AUTO" } },
  });
  const response = { status: "ok", results: ["HX-19"] };
  const calls = [id, "own"].map((each) => ({ functionCall: { id: each, ...search } }));
  expect(contentsOf(1)).toEqual([
    { role: "user", parts: [{ text: "What is the gate code?" }] },
    { role: "model", parts: [{ text: "I look it up." }, { ...calls[0], thoughtSignature: "c2lnbmVk" }, calls[1]] },
    {
      role: "user",
      parts: [id, "own"].map((each) => ({ functionResponse: { id: each, name: "memory_search", response } })),
    },
  ]);
});

test.each([
  ["gemini-3-pro", { thoughtSignature: "skip_thought_signature_validator" }],
  ["gemini-2.5-pro", {}],
])("after a restart %s gets calls with %j", async (name, signature) => {
  const toolCalls = ["a", "b"].map((id) => ({ id, name: "memory_search", arguments: "{broken" }));
  const messages = [
    { role: "user" as const, text: "x" },
    { role: "assistant" as const, text: "", toolCalls },
    ...toolCalls.map(({ id }) => ({ role: "tool" as const, toolCallId: id, toolName: "memory_search", text: "[1]" })),
  ];
  await (await geminiAt(() => says("ok"), name)).complete(request({ messages }));
  const functionCall = (id: string): object => ({ functionCall: { id, name: "memory_search", args: {} } });
  expect(contentsOf(0)).toEqual([
    expect.anything(),
    { role: "model", parts: [{ ...functionCall("a"), ...signature }, functionCall("b")] },
    expect.objectContaining({ parts: [expect.anything(), expect.anything()] }),
  ]);
});

test("a key for Gemini alone sends the request to Gemini", async () => {
  server = await startFakeChatServer(() => says("ok"));
  const model = chooseModel({}, { GEMINI_API_KEY: testKey, GEMINI_BASE_URL: server.baseUrl });
  expect((await model?.complete(request()))?.text).toBe("ok");
  expect(server.requests[0]?.path).toContain("/models/gemini-2.5-flash:streamGenerateContent");
});

const began = part([{ text: "a" }]);
test.each<[string, ChatReply, number, string, RegExp]>([
  ["a wrong key", refuses(400, "API key not valid.", "API_KEY_INVALID"), 1, "CONFIG", /refused the key \(400\)/],
  ["too many tokens", refuses(400, "exceeds the maximum number of tokens"), 1, "INVALID_ARGUMENT", /too long/],
  ["another refusal", refuses(400, "bad schema"), 1, "UNAVAILABLE", /an error \(400\), check .*: bad schema \[key\]$/],
  [
    "an error in the stream",
    streams(began, event({ error: { code: 503, message: `overloaded ${testKey}`, status: "UNAVAILABLE" } })),
    3,
    "UNAVAILABLE",
    /\(503\), ask again later: overloaded \[key\]$/,
  ],
  ["an end in the middle", streams(began), 3, "UNAVAILABLE", /broke off in the middle/],
  ["a blocked question", streams(event({ promptFeedback: { blockReason: "SAFETY" } })), 3, "UNAVAILABLE", /\(SAFETY\)/],
])("%s is one line without the key", async (_name, reply, requests, code, message) => {
  const error = await thrownBy((await geminiAt(() => reply)).complete(request()));
  expect(error).toMatchObject({ name: "MemoryError", code, message: expect.stringMatching(message) });
  expect(server?.requests).toHaveLength(requests);
});
