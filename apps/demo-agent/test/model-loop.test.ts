import { createMemoryTools } from "@memslot/agent-kit";
import { afterEach, expect, test } from "vitest";
import type { Answerer } from "../src/answerer.ts";
import { type ModelLoopOptions, createModelLoop } from "../src/model-loop.ts";
import { type FakeEndpoint, calls, says, startFakeEndpoint } from "./fake-endpoint.ts";
import { fakeNotes } from "./fake-notes.ts";

let endpoint: FakeEndpoint | undefined;
afterEach(async () => endpoint?.close());

const memory = fakeNotes({
  files: { "memory/boats.md": "- The gate code is HX-19." },
  results: [{ path: "memory/boats.md", startLine: 1, endLine: 1 }],
});
const key = "sk-test-4711";
const never = new AbortController().signal;

async function loopWith(
  reply: Parameters<typeof startFakeEndpoint>[0],
  options: Partial<ModelLoopOptions> = {},
): Promise<Answerer> {
  endpoint = await startFakeEndpoint(reply);
  return createModelLoop({
    endpoint: { apiKey: key, baseUrl: endpoint.baseUrl, model: "test-model" },
    systemPrompt: "You are a test.",
    tools: createMemoryTools({ memory, citations: "auto" }),
    ...options,
  });
}

test("the model calls a tool, sees its answer, and answers", async () => {
  const loop = await loopWith((_request, index) =>
    index === 0 ? calls({ name: "memory_search", arguments: '{"query":"gate code"}' }) : says("It is HX-19. "),
  );
  expect(await loop.answer("What is the gate code?", { signal: never })).toBe("It is HX-19.");
  const [first, second] = endpoint?.requests ?? [];
  expect(first?.path).toBe("/v1/chat/completions");
  expect(first?.authorization).toBe(`Bearer ${key}`);
  expect(first?.body).toMatchObject({
    model: "test-model",
    messages: [
      { role: "system", content: "You are a test." },
      { role: "user", content: "What is the gate code?" },
    ],
    tools: [{ function: { name: "memory_search" } }, { function: { name: "memory_get" } }],
    tool_choice: "auto",
  });
  const answer = second?.body.messages.at(-1);
  expect(answer).toMatchObject({ role: "tool", tool_call_id: "call_0" });
  expect(JSON.parse(answer?.content ?? "")).toMatchObject({ results: [{ path: "memory/boats.md" }], state: "ok" });
});

test("several calls in one round are each answered, and errors go back to the model", async () => {
  const loop = await loopWith((_request, index) =>
    index === 0
      ? calls(
          { name: "memory_get", arguments: '{"path":"memory/boats.md"}' },
          { name: "memory_get", arguments: "{" },
          { name: "rm", arguments: "{}" },
        )
      : says("done"),
  );
  expect(await loop.answer("x", { signal: never })).toBe("done");
  const tools = endpoint?.requests[1]?.body.messages.filter(({ role }) => role === "tool") ?? [];
  expect(tools.map(({ tool_call_id }) => tool_call_id)).toEqual(["call_0", "call_1", "call_2"]);
  expect(tools.map(({ content }) => JSON.parse(content))).toMatchObject([
    { status: "ok", text: "- The gate code is HX-19." },
    { status: "error", error: expect.stringContaining("not valid JSON") },
    { status: "error", error: expect.stringContaining('no tool "rm"') },
  ]);
});

test("after eight rounds of tool calls the model has to answer", async () => {
  const loop = await loopWith(({ body }) =>
    body.tool_choice === "none" ? says("at last") : calls({ name: "memory_search", arguments: '{"query":"x"}' }),
  );
  expect(await loop.answer("x", { signal: never })).toBe("at last");
  expect(endpoint?.requests).toHaveLength(9);
});

test("a model that only ever calls tools is stopped with a clear error", async () => {
  const loop = await loopWith(() => calls({ name: "memory_search", arguments: '{"query":"x"}' }));
  await expect(loop.answer("x", { signal: never })).rejects.toThrow(/no answer after 8 rounds/);
  expect(endpoint?.requests).toHaveLength(9);
});

test("earlier turns stay known, a failed one does not", async () => {
  const loop = await loopWith((_request, index) =>
    index === 1 ? { status: 400, body: { error: { message: "bad request" } } } : says(`answer ${index}`),
  );
  await loop.answer("one", { signal: never });
  await expect(loop.answer("two", { signal: never })).rejects.toThrow(/bad request/);
  await loop.answer("three", { signal: never });
  expect(endpoint?.requests[2]?.body.messages.map(({ content }) => content)).toEqual([
    "You are a test.",
    "one",
    "answer 0",
    "three",
  ]);
});

test("a refused key is one clear line without the key", async () => {
  const loop = await loopWith(() => ({
    status: 401,
    body: { error: { message: `Incorrect API key provided: ${key}` } },
  }));
  const failure = await loop.answer("x", { signal: never }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ message: expect.stringMatching(/refused the key \(401\): check OPENAI_API_KEY$/) });
  expect(String(failure)).not.toContain(key);
  expect(endpoint?.requests).toHaveLength(1);
});

test("other errors are told on one line without the key", async () => {
  const loop = await loopWith(() => ({ status: 422, body: { error: { message: `strange\n${key}` } } }));
  const failure = await loop.answer("x", { signal: never }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ message: expect.stringContaining("strange [key]") });
});

test("an unknown model names the model", async () => {
  const loop = await loopWith(() => ({ status: 404, body: { error: { message: "no" } } }));
  await expect(loop.answer("x", { signal: never })).rejects.toThrow(/"test-model" \(404\)/);
});

test("an endpoint that is not there is named", async () => {
  const loop = await loopWith(() => says("x"));
  await endpoint?.close();
  await expect(loop.answer("x", { signal: never })).rejects.toThrow(
    /cannot reach http:\/\/127\.0\.0\.1:\d+\/v1.*ECONNREFUSED/,
  );
});

test("an endpoint that hangs is given up after the time limit", async () => {
  const byRequest = await loopWith(() => "hang", { requestTimeoutMs: 50 });
  await expect(byRequest.answer("x", { signal: never })).rejects.toThrow(/no answer within 0\.05 s/);
  await endpoint?.close();
  const byAnswer = await loopWith(() => "hang", { answerTimeoutMs: 60 });
  await expect(byAnswer.answer("x", { signal: never })).rejects.toThrow(/no answer within 0\.06 s/);
});

test("an abort stays an abort", async () => {
  const loop = await loopWith(() => "hang");
  const controller = new AbortController();
  const running = loop.answer("x", { signal: controller.signal });
  setTimeout(() => controller.abort(), 20);
  await expect(running).rejects.toMatchObject({ name: "AbortError" });
});

test("an answer that is no chat completion is an error, not a crash", async () => {
  const loop = await loopWith((_request, index) => (index === 0 ? { body: { hello: 1 } } : says(" ")));
  await expect(loop.answer("x", { signal: never })).rejects.toThrow(/no message/);
  await expect(loop.answer("x", { signal: never })).rejects.toThrow(/empty answer/);
});

test("without tools none are offered", async () => {
  const loop = await loopWith(() => says("hi"), { tools: [] });
  await loop.answer("x", { signal: never });
  expect(endpoint?.requests[0]?.body).not.toHaveProperty("tools");
  expect(endpoint?.requests[0]?.body).not.toHaveProperty("tool_choice");
});
