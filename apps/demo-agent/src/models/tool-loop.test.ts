import type { NewMessage } from "@memslot/agent-kit";
import { afterEach, expect, test } from "vitest";
import type { ModelReply } from "./chat-model.ts";
import { type ToolLoopOptions, type ToolLoopResult, runToolLoop } from "./tool-loop.ts";
import { type FakeChatServer, callFrames, calls, event, frame, says, startFakeChatServer } from "@memslot/fakes/chat";
import { never, openAiAt, rolesOf, scripted, searchTool, testKey, thrownBy } from "./test/model-lab.ts";

let server: FakeChatServer | undefined;
afterEach(async () => server?.close());

const question: NewMessage = { role: "user", text: "What is the gate code?" };

function run(options: Partial<ToolLoopOptions> & Pick<ToolLoopOptions, "model">): Promise<ToolLoopResult> {
  return runToolLoop({ system: "You are a test.", messages: [question], tools: [], signal: never, ...options });
}

const search = { name: "memory_search", arguments: '{"query":"gate code"}' };
const asks = (id: string, text = ""): ModelReply => ({ text, toolCalls: [{ id, ...search }] });
const final: ModelReply = { text: "It is HX-19. ", toolCalls: [] };

test("over the wire: fragments, a tool's answer, and the words at the end", async () => {
  server = await startFakeChatServer((_request, index) =>
    index === 0 ? calls({ id: "a", ...search }) : says("It is HX-19."),
  );
  const tool = searchTool();
  const shown: string[] = [];
  const { text, messages } = await run({
    model: openAiAt(server.baseUrl),
    tools: [tool],
    onText: (delta) => shown.push(delta),
  });
  expect([text, shown.join("")]).toEqual(["It is HX-19.", "It is HX-19."]);
  expect(tool.inputs).toEqual([{ query: "gate code" }]);
  expect(messages).toEqual([
    { role: "assistant", text: "", toolCalls: [{ id: "a", ...search }] },
    { role: "tool", toolCallId: "a", toolName: "memory_search", text: '{"status":"ok","results":["HX-19"]}' },
    { role: "assistant", text: "It is HX-19." },
  ]);
  const [first, second] = server.requests;
  expect(first?.path).toBe("/v1/chat/completions");
  expect(first?.headers.authorization).toBe(`Bearer ${testKey}`);
  expect(first?.body).toMatchObject({
    model: "test-model",
    stream: true,
    stream_options: { include_usage: true },
    tool_choice: "auto",
    tools: [{ type: "function", function: { name: "memory_search", parameters: { required: ["query"] } } }],
  });
  expect(second?.body.messages).toEqual([
    { role: "system", content: "You are a test." },
    { role: "user", content: "What is the gate code?" },
    { role: "assistant", content: null, tool_calls: [{ id: "a", type: "function", function: search }] },
    { role: "tool", tool_call_id: "a", content: '{"status":"ok","results":["HX-19"]}' },
  ]);
});

test("malformed arguments and unknown tools go back to the model, and spoil no later request", async () => {
  server = await startFakeChatServer((_request, index) =>
    index === 0
      ? calls(
          { name: "memory_search", arguments: '{"query":' },
          { name: "rm", arguments: "{}" },
          { name: "memory_search", arguments: "" },
        )
      : says("done"),
  );
  const tool = searchTool();
  const { messages } = await run({ model: openAiAt(server.baseUrl), tools: [tool] });
  expect(messages.filter(({ role }) => role === "tool").map(({ text }) => JSON.parse(text))).toMatchObject([
    { status: "error", error: expect.stringContaining("not valid JSON") },
    { status: "error", error: expect.stringContaining('no tool "rm"') },
    { status: "ok" },
  ]);
  // The host keeps what the model wrote; an endpoint gets something that it can read.
  expect(messages[0]).toMatchObject({ toolCalls: [{ arguments: '{"query":' }, {}, {}] });
  const sent = server.requests[1]?.body.messages[2]?.tool_calls ?? [];
  expect(sent.map((call) => call.function.arguments)).toEqual(["{}", "{}", "{}"]);
});

test("a tool that throws is told to the model", async () => {
  const tool = searchTool(async () => {
    throw new Error("the disk is gone");
  });
  const { messages } = await run({ model: scripted([asks("a"), final]), tools: [tool] });
  expect(messages[1]?.text).toContain("the disk is gone");
});

test("after the last round the model has to answer in words", async () => {
  const model = scripted([({ mayCallTools }) => (mayCallTools ? asks(crypto.randomUUID()) : final)]);
  const { text } = await run({ model, tools: [searchTool()] });
  expect(text).toBe("It is HX-19.");
  expect(model.requests.map(({ mayCallTools }) => mayCallTools)).toEqual([
    ...Array.from({ length: 8 }, () => true),
    false,
  ]);
});

test("over the wire, a model that calls tools for ever is stopped", async () => {
  server = await startFakeChatServer((_request, index) => calls({ id: `a${index}`, ...search }));
  const tool = searchTool();
  const error = await thrownBy(run({ model: openAiAt(server.baseUrl), tools: [tool], maxRounds: 3 }));
  expect(error).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringMatching(/^test-model called tools for ever.*after 3 rounds/),
  });
  expect(server.requests.map(({ body }) => body.tool_choice)).toEqual(["auto", "auto", "auto", "none"]);
  expect(tool.inputs).toHaveLength(3);
});

test("what such a model says beside its last call is taken for the answer", async () => {
  const { text, messages } = await run({
    model: scripted([asks("a", "It is HX-19.")]),
    tools: [searchTool()],
    maxRounds: 0,
  });
  expect([text, messages]).toEqual(["It is HX-19.", [{ role: "assistant", text: "It is HX-19." }]]);
});

test("an empty answer is an error", async () => {
  const error = await thrownBy(run({ model: scripted([{ text: " \n", toolCalls: [] }]) }));
  expect(error).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringMatching(/^scripted gave an empty answer; /),
  });
});

test("each message is with the host before the next step is taken", async () => {
  const steps: string[] = [];
  const tool = searchTool(async () => {
    steps.push("tool runs");
    return { status: "ok" };
  });
  const model = scripted([
    () => (
      steps.push("model is asked"),
      {
        text: "",
        toolCalls: [
          { id: "a", ...search },
          { id: "b", ...search },
        ],
      }
    ),
    () => (steps.push("model is asked"), final),
  ]);
  const onMessage = async ({ role }: NewMessage): Promise<void> => {
    await new Promise(setImmediate);
    steps.push(`${role} is kept`);
  };
  await run({ model, tools: [tool], onMessage });
  expect(steps).toEqual([
    "model is asked",
    "assistant is kept",
    "tool runs",
    "tool is kept",
    "tool runs",
    "tool is kept",
    "model is asked",
    "assistant is kept",
  ]);
});

test("a message that cannot be kept ends the turn", async () => {
  const model = scripted([asks("a"), final]);
  const onMessage = (): void => {
    throw new Error("the disk is full");
  };
  await expect(run({ model, tools: [searchTool()], onMessage })).rejects.toThrow("the disk is full");
  expect(model.requests).toHaveLength(1);
});

test("an interrupted turn before this one is made whole, and a lost call forgotten", async () => {
  const model = scripted([final]);
  const messages: NewMessage[] = [
    { role: "tool", toolCallId: "lost", toolName: "memory_get", text: "{}" },
    { role: "user", text: "one" },
    {
      role: "assistant",
      text: "",
      toolCalls: [
        { id: "a", ...search },
        { id: "b", ...search },
      ],
    },
    { role: "tool", toolCallId: "b", toolName: "memory_search", text: "{}" },
    { role: "assistant", text: "" },
    { role: "user", text: "two" },
  ];
  const given = structuredClone(messages);
  const { messages: added } = await run({ model, messages });
  expect(model.requests[0]?.messages).toMatchObject([
    { role: "user", text: "one" },
    { role: "assistant", toolCalls: [{ id: "a" }, { id: "b" }] },
    { role: "tool", toolCallId: "b", text: "{}" },
    { role: "tool", toolCallId: "a", toolName: "memory_search", text: expect.stringContaining("interrupted") },
    { role: "user", text: "two" },
  ]);
  expect(added).toHaveLength(1);
  expect(messages).toEqual(given);
});

test("an error in mid-stream ends the turn in one line without the key; what was done before is kept", async () => {
  server = await startFakeChatServer((_request, index) =>
    index === 0
      ? calls({ id: "a", ...search })
      : { pieces: [frame({ content: "The code" }), event({ error: { message: `overloaded, ${testKey}` } })] },
  );
  const kept: NewMessage[] = [];
  const shown: string[] = [];
  const model = openAiAt(server.baseUrl);
  const error = await thrownBy(
    run({
      model,
      tools: [searchTool()],
      onMessage: (message) => void kept.push(message),
      onText: (delta) => shown.push(delta),
    }),
  );
  expect(error).toMatchObject({ code: "UNAVAILABLE", message: expect.stringMatching(/overloaded, \[key\]$/) });
  expect(kept.map(({ role }) => role)).toEqual(["assistant", "tool"]);
  expect(shown).toEqual(["The code"]);
});

test("an abort in the middle of a stream ends the turn at once, and nothing is said or kept after it", async () => {
  const frames = callFrames([{ id: "a", ...search }], "Let me see. ");
  server = await startFakeChatServer(() => ({ pieces: frames.slice(0, 3), end: "open" }));
  const controller = new AbortController();
  const said: string[] = [];
  const onText = (delta: string): void => {
    said.push(delta);
    controller.abort();
  };
  const onMessage = ({ role }: NewMessage): void => void said.push(role);
  const model = openAiAt(server.baseUrl);
  const running = run({ model, tools: [searchTool()], signal: controller.signal, onText, onMessage });
  await expect(running).rejects.toMatchObject({ name: "AbortError" });
  await server.requests[0]?.closed;
  expect(said).toEqual(["Let me see. "]);
});

test("an abort is not held up by a tool that does not listen", async () => {
  const controller = new AbortController();
  let finish = (): void => undefined;
  const tool = searchTool(() => {
    controller.abort();
    return new Promise((resolve) => (finish = () => resolve({ status: "ok" })));
  });
  const kept: NewMessage[] = [];
  const model = scripted([asks("a"), final]);
  const onMessage = (message: NewMessage): void => void kept.push(message);
  await expect(run({ model, tools: [tool], signal: controller.signal, onMessage })).rejects.toMatchObject({
    name: "AbortError",
  });
  finish();
  await new Promise(setImmediate);
  expect(rolesOf(kept)).toEqual(["assistant: "]);
  expect(model.requests).toHaveLength(1);
});

test("a message that is being kept at an abort is waited for", async () => {
  const controller = new AbortController();
  let isKept = false;
  const onMessage = async (): Promise<void> => {
    controller.abort();
    await new Promise((resolve) => setTimeout(resolve, 20));
    isKept = true;
  };
  await expect(run({ model: scripted([final]), signal: controller.signal, onMessage })).rejects.toMatchObject({
    name: "AbortError",
  });
  expect(isKept).toBe(true);
});

test("an answer that takes too long is given up with a clear line", async () => {
  server = await startFakeChatServer(() => "hang");
  const error = await thrownBy(run({ model: openAiAt(server.baseUrl), timeoutMs: 50 }));
  expect(error).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringMatching(/^test-model gave no answer within 0\.05 s; ask again/),
  });
  await server.requests[0]?.closed;
});

test("without tools none are offered", async () => {
  server = await startFakeChatServer(() => says("hi"));
  await run({ model: openAiAt(server.baseUrl) });
  expect(server.requests[0]?.body).not.toHaveProperty("tools");
  expect(server.requests[0]?.body).not.toHaveProperty("tool_choice");
});
