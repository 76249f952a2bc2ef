import type { NewMessage } from "@memslot/agent-kit";
import { type FakeChatServer, calls, says, startFakeChatServer } from "@memslot/fakes/chat";
import { afterEach, expect, test } from "vitest";
import type { ModelReply } from "./chat-model.ts";
import { type ToolLoopOptions, type ToolLoopResult, runToolLoop } from "./tool-loop.ts";
import { never, openAiAt, scripted, searchTool, testKey, thrownBy } from "./test/model-lab.ts";
import data from "./test/tool-loop.json" with { type: "json" };

let server: FakeChatServer | undefined;
afterEach(async () => server?.close());

const question: NewMessage = { role: "user", text: "What is the gate code?" };

function run(options: Partial<ToolLoopOptions> & Pick<ToolLoopOptions, "model">): Promise<ToolLoopResult> {
  return runToolLoop({ system: "You are a test.", messages: [question], tools: [], signal: never, ...options });
}

const search = { name: "memory_search", arguments: '{"query":"gate code"}' };
const asks = (...ids: string[]): ModelReply => ({ text: "", toolCalls: ids.map((id) => ({ id, ...search })) });
const final: ModelReply = { text: "It is HX-19. ", toolCalls: [] };

test("over the wire: a call, a tool's answer, and the words at the end", async () => {
  server = await startFakeChatServer((_request, index) =>
    index === 0 ? calls({ id: "a", ...search }) : says("It is HX-19."),
  );
  const tool = searchTool();
  const shown: string[] = [];
  const model = openAiAt(server.baseUrl);
  const { text, messages } = await run({ model, tools: [tool], onText: (delta) => shown.push(delta) });
  expect([text, shown.join("")]).toEqual(["It is HX-19.", "It is HX-19."]);
  expect(tool.inputs).toEqual([{ query: "gate code" }]);
  const result = '{"status":"ok","results":["HX-19"]}';
  expect(messages).toEqual([
    { role: "assistant", text: "", toolCalls: [{ id: "a", ...search }] },
    { role: "tool", toolCallId: "a", toolName: "memory_search", text: result },
    { role: "assistant", text: "It is HX-19." },
  ]);
  const [first, second] = server.requests;
  expect(first?.path).toBe("/v1/chat/completions");
  expect(first?.headers.authorization).toBe(`Bearer ${testKey}`);
  expect(first?.body).toMatchObject(data.request);
  expect(second?.body.messages).toEqual([
    { role: "system", content: "You are a test." },
    { role: "user", content: "What is the gate code?" },
    { role: "assistant", content: null, tool_calls: [{ id: "a", type: "function", function: search }] },
    { role: "tool", tool_call_id: "a", content: result },
  ]);
  await run({ model });
  for (const field of ["tools", "tool_choice"]) expect(server.requests.at(-1)?.body).not.toHaveProperty(field);
});

test("malformed arguments and unknown tools go back to the model, and spoil no later request", async () => {
  const broken = { name: "memory_search", arguments: '{"query":' };
  server = await startFakeChatServer((_request, index) =>
    index === 0 ? calls(broken, { name: "rm", arguments: "{}" }, { ...search, arguments: "" }) : says("done"),
  );
  const { messages } = await run({ model: openAiAt(server.baseUrl), tools: [searchTool()] });
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

test("after the last round the model has to answer in words, and one that calls tools for ever is stopped", async () => {
  const model = scripted([({ mayCallTools }) => (mayCallTools ? asks(crypto.randomUUID()) : final)]);
  expect((await run({ model, tools: [searchTool()] })).text).toBe("It is HX-19.");
  expect(model.requests.map(({ mayCallTools }) => mayCallTools)).toEqual([...Array(8).fill(true), false]);
  const endless = scripted([() => asks(crypto.randomUUID())]);
  expect(await thrownBy(run({ model: endless, tools: [searchTool()], maxRounds: 3 }))).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringMatching(/^scripted called tools for ever.*after 3 rounds/),
  });
  const talking = scripted([{ ...asks("a"), text: "It is HX-19." }]);
  const { text, messages } = await run({ model: talking, tools: [searchTool()], maxRounds: 0 });
  expect([text, messages]).toEqual(["It is HX-19.", [{ role: "assistant", text: "It is HX-19." }]]);
});

test("each message is with the host before the next step is taken, and one that cannot be kept ends the turn", async () => {
  const steps: string[] = [];
  const tool = searchTool(async () => {
    steps.push("tool runs");
    return { status: "ok" };
  });
  const reply = (given: ModelReply) => (): ModelReply => {
    steps.push("model is asked");
    return given;
  };
  const onMessage = async ({ role }: NewMessage): Promise<void> => {
    await new Promise(setImmediate);
    steps.push(`${role} is kept`);
  };
  await run({ model: scripted([reply(asks("a", "b")), reply(final)]), tools: [tool], onMessage });
  expect(steps.join(", ")).toBe(
    "model is asked, assistant is kept, tool runs, tool is kept, tool runs, tool is kept, model is asked, assistant is kept",
  );
  const model = scripted([asks("a"), final]);
  const failing = (): Promise<void> => Promise.reject(new Error("the disk is full"));
  await expect(run({ model, tools: [searchTool()], onMessage: failing })).rejects.toThrow("the disk is full");
  expect(model.requests).toHaveLength(1);
});

test("an empty answer, and one that takes too long, are errors in one line", async () => {
  expect(await thrownBy(run({ model: scripted([{ text: " \n", toolCalls: [] }]) }))).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringMatching(/^scripted gave an empty answer; /),
  });
  server = await startFakeChatServer(() => "hang");
  expect(await thrownBy(run({ model: openAiAt(server.baseUrl), timeoutMs: 50 }))).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringMatching(/^test-model did not answer within 0\.05 s; ask again/),
  });
});

test("an abort is not held up by a tool that does not listen, and waits for a message that is being kept", async () => {
  const controller = new AbortController();
  const { promise: finished, resolve: finish } = Promise.withResolvers<{ status: "ok" }>();
  const tool = searchTool(() => {
    controller.abort();
    return finished;
  });
  const kept: string[] = [];
  const onMessage = ({ role, text }: NewMessage): void => void kept.push(`${role}: ${text}`);
  const model = scripted([asks("a"), final]);
  const running = run({ model, tools: [tool], signal: controller.signal, onMessage });
  await expect(running).rejects.toMatchObject({ name: "AbortError" });
  finish({ status: "ok" });
  await new Promise(setImmediate);
  expect([kept, model.requests.length]).toEqual([["assistant: "], 1]);

  const during = new AbortController();
  let isKept = false;
  const keeping = async (): Promise<void> => {
    during.abort();
    await new Promise(setImmediate);
    isKept = true;
  };
  const aborted = run({ model: scripted([final]), signal: during.signal, onMessage: keeping });
  await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
  expect(isKept).toBe(true);
});
