import { afterEach, expect, test } from "vitest";
import type { ModelReply } from "./chat-model.ts";
import { createEventReader } from "./event-stream.ts";
import { type FakeChatServer, callFrames, event, frame, startFakeChatServer } from "@memslot/fakes/chat";
import { openAiAt, request, searchTool } from "./test/model-lab.ts";

let server: FakeChatServer | undefined;
afterEach(async () => server?.close());

/** The answer to a stream of these parts, and the text that was shown meanwhile. */
async function answerTo(
  pieces: Iterable<string | Uint8Array>,
  headers: Record<string, string> = {},
): Promise<ModelReply & { shown: string }> {
  server = await startFakeChatServer(() => ({ pieces, headers }));
  try {
    return await ask(server);
  } finally {
    await server.close();
  }
}

async function ask({ baseUrl }: FakeChatServer): Promise<ModelReply & { shown: string }> {
  let shown = "";
  const onText = (delta: string): void => void (shown += delta);
  return { ...(await openAiAt(baseUrl).complete(request({ tools: [searchTool()], onText }))), shown };
}

const done = "data: [DONE]\n\n";
const calling = (...fragments: object[]): string[] => [
  ...fragments.map((fragment) => frame({ tool_calls: [fragment] })),
  frame({}, "tool_calls"),
  done,
];

/** The events of a stream, without comments and the kind of line end. */
const eventsOf = (stream: string): string[] =>
  stream
    .split(/\n{2,}/)
    .map((part) => part.trim())
    .filter((part) => part !== "" && !part.startsWith(":"));
const said = "门禁 🔑 naïve";
const written = '{"query":"门禁 code"}';
const wholeBody = [
  ": keep-alive\n\n",
  // One event may have several lines.
  'event: x\ndata: {"choices":\ndata: []}\n\n',
  ...callFrames([{ id: "a", name: "memory_search", arguments: written }], said),
].join("");

test("an answer means the same wherever its bytes are cut", async () => {
  const body = Buffer.from(wholeBody);
  let cut = 0;
  server = await startFakeChatServer(() => ({ pieces: [body.subarray(0, cut), body.subarray(cut)] }));
  // Each byte has its turn in the next test; here they go over the wire and through the SDK.
  for (cut = 0; cut <= body.length; cut += 13) {
    expect(await ask(server), `cut at ${cut}`).toMatchObject({
      text: said,
      shown: said,
      toolCalls: [{ id: "a", name: "memory_search", arguments: written }],
    });
  }
});

test.each(["\n", "\r\n", "\r"])("with the line end %j events are the same wherever they are cut", async (lineEnd) => {
  const body = Buffer.from(wholeBody.replaceAll("\n", lineEnd));
  for (let cut = 0; cut <= body.length; cut += 1) {
    const pieces = [body.subarray(0, cut), body.subarray(cut)].filter(({ length }) => length > 0);
    const reader = createEventReader(() => undefined);
    const text = await reader.read(new Response(ReadableStream.from(pieces))).text();
    expect(eventsOf(text), `cut at ${cut}`).toEqual(eventsOf(wholeBody));
    expect(reader.isComplete(), `cut at ${cut}`).toBe(true);
  }
});

test.each([
  ["\n", 1],
  ["\r\n", 1],
  ["\r", 1],
  ["\r\n", 7],
])("events with the line end %j in pieces of %i bytes are read whole", async (lineEnd, size) => {
  const body = Buffer.from(wholeBody.replaceAll("\n", lineEnd));
  const pieces = Array.from({ length: Math.ceil(body.length / size) }, (_, at) =>
    body.subarray(at * size, (at + 1) * size),
  );
  let signs = 0;
  const reader = createEventReader(() => (signs += 1));
  const text = await reader.read(new Response(ReadableStream.from(pieces))).text();
  expect(eventsOf(text)).toEqual(eventsOf(wholeBody));
  expect(text).not.toContain("keep-alive");
  // Every piece is a sign of life, comments too, and so is the answer itself.
  expect(signs).toBe(pieces.length + 1);
  expect(reader.isComplete()).toBe(true);
  expect(await answerTo(pieces)).toMatchObject({ text: said, toolCalls: [{ arguments: written }] });
});

test("calls whose fragments take turns are told apart by their index", async () => {
  const given = [
    { id: "a", name: "memory_search", arguments: '{"query":"gate"}' },
    { id: "b", name: "memory_get", arguments: '{"path":"memory/boats.md"}' },
    { id: "c", name: "memory_search", arguments: '{"query":"boat"}' },
  ];
  expect((await answerTo(callFrames(given))).toolCalls).toEqual(given);
});

test("names and arguments may come in pieces, the id late, and the index never", async () => {
  const inPieces = calling(
    { index: 0, function: { name: "memory_" } },
    { index: 0, function: { name: "search" } },
    { index: 0, id: "late", function: { arguments: '{"query"' } },
    { index: 0, function: { arguments: ':"x"}' } },
  );
  const expected = { name: "memory_search", arguments: '{"query":"x"}' };
  expect((await answerTo(inPieces)).toolCalls).toEqual([{ id: "late", ...expected }]);
  const withoutIndex = calling(
    { id: "a", function: { name: "memory_search" } },
    { function: { arguments: '{"query":' } },
    { function: { arguments: '"x"}' } },
    { id: "b", function: expected },
  );
  expect((await answerTo(withoutIndex)).toolCalls).toEqual([
    { id: "a", ...expected },
    { id: "b", ...expected },
  ]);
});

test("whole calls that all have the index 0, a name that is said again, and arguments as an object are understood", async () => {
  const fragment = calling(
    { index: 0, id: "a", function: { name: "memory_search", arguments: '{"query":' } },
    { index: 0, id: "a", function: { name: "memory_search", arguments: '"x"}' } },
    { index: 0, id: "b", function: { name: "memory_search", arguments: { query: "y" } } },
    { index: 1, id: "", function: { name: "", arguments: "" } },
  );
  expect((await answerTo(fragment)).toolCalls).toEqual([
    { id: "a", name: "memory_search", arguments: '{"query":"x"}' },
    { id: "b", name: "memory_search", arguments: '{"query":"y"}' },
  ]);
});

test("a new id with each fragment makes no new call", async () => {
  const { toolCalls } = await answerTo(
    calling(
      { index: 0, id: "a", function: { name: "memory_search" } },
      { index: 0, id: "b", function: { arguments: "{" } },
      { index: 0, id: "c", function: { arguments: "}" } },
    ),
  );
  expect(toolCalls).toEqual([{ id: "a", name: "memory_search", arguments: "{}" }]);
});

test("missing and repeated ids are made up", async () => {
  const { toolCalls } = await answerTo(
    calling(
      { index: 0, function: { name: "one", arguments: "{}" } },
      { index: 1, id: "same", function: { name: "two", arguments: "{}" } },
      { index: 2, id: "same", function: { name: "three", arguments: "{}" } },
    ),
  );
  expect(toolCalls.map(({ name }) => name)).toEqual(["one", "two", "three"]);
  expect(new Set(toolCalls.map(({ id }) => id)).size).toBe(3);
  for (const { id } of toolCalls) expect(id).toMatch(/^(?:same|[0-9a-f]{9})$/);
});

test("a missing finish reason is no matter where the stream says that it is done, and the other way round", async () => {
  expect((await answerTo([frame({ content: "hi" }), done])).text).toBe("hi");
  expect((await answerTo([frame({ content: "hi" }), frame({}, "stop")])).text).toBe("hi");
});

test("an endpoint that ignores the wish for a stream may answer with one JSON text", async () => {
  const message = {
    role: "assistant",
    content: "hi",
    tool_calls: [{ id: "a", type: "function", function: { name: "memory_search", arguments: "{}" } }],
  };
  const body = JSON.stringify({ choices: [{ index: 0, message }], usage: { prompt_tokens: 5 } }, undefined, 2);
  for (const type of ["application/json", "text/event-stream", "text/plain"]) {
    expect(await answerTo([body.slice(0, 30), body.slice(30)], { "content-type": type })).toMatchObject({
      text: "hi",
      shown: "hi",
      toolCalls: [{ id: "a", name: "memory_search", arguments: "{}" }],
      inputTokens: 5,
    });
  }
});

test("what the request weighed is told, also beside no text", async () => {
  const usage = event({ choices: [], usage: { prompt_tokens: 41 } });
  expect((await answerTo([frame({ content: "hi" }, "stop"), usage, done])).inputTokens).toBe(41);
});

test("a refusal is an answer too", async () => {
  expect((await answerTo([frame({ content: null, refusal: "I will not." }, "stop"), done])).text).toBe("I will not.");
});
