import { writeFile } from "node:fs/promises";
import path from "node:path";
import { openSessions } from "@memslot/agent-kit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type AgentPlace, call, createAgentPlace, kindOf, scriptedModel } from "./test/agent-place.ts";

const never = new AbortController().signal;
const alone = { signal: never };
let place: AgentPlace;
beforeEach(async () => {
  place = await createAgentPlace();
});
afterEach(async () => place.remove());

describe("a turn", () => {
  test("is in the transcript message by message, and says which notes the answer names", async () => {
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === "user"
        ? { text: "Let me look.", toolCalls: [call("memory_search", { query: "gate code harbour" })] }
        : { text: "It is HX-19 (memory/boats.md#L3-L3), not as in memory/made-up.md#L9-L9." },
    );
    const agent = await place.agent({ model });
    const shown: string[] = [];
    const onText = (delta: string): void => void shown.push(delta);
    const { text, sources } = await agent.ask("What is the gate code?", { signal: never, onText });
    expect(text).toMatch(/^It is HX-19/);
    expect(sources).toEqual(["memory/boats.md#L3-L3"]);
    expect(shown).toEqual(["Let me look.", "\n", text]);
    expect(await place.transcript()).toEqual([
      "user: What is the gate code?",
      "assistant: Let me look. <memory_search>",
      expect.stringMatching(/^toolResult: .*HX-19/),
      `assistant: ${text}`,
    ]);
    const [first] = model.requests;
    const names = ["search", "get", "append", "edit", "forget"].map((name) => `memory_${name}`);
    expect(first?.tools.map(({ name }) => name)).toEqual(names);
    expect(first?.system).toContain("- The user is called Xi.");
  });

  test("rests on what was read, or else on the best results, and says whether memory was asked", async () => {
    let reads = true;
    let query = "gate code harbour";
    const model = scriptedModel(({ messages }) => {
      if (messages.at(-1)?.role === "tool") return { text: "HX-19." };
      const search = call("memory_search", { query });
      return {
        toolCalls: reads ? [search, call("memory_get", { path: "memory/boats.md", from: 3, lines: 1 })] : [search],
      };
    });
    const agent = await place.agent({ model });
    expect((await agent.ask("The code?", alone)).sources).toEqual(["memory/boats.md#L3-L3"]);
    reads = false;
    expect((await agent.ask("And again?", alone)).sources).toEqual(["memory/boats.md#L1-L3"]);
    query = "quantum chromodynamics";
    expect(await agent.ask("What?", alone)).toMatchObject({ sources: [], searched: true });
    const silent = await place.agent({ model: scriptedModel(() => ({ text: "Hi." })), sessionKey: "agent:main:tui:2" });
    expect(await silent.ask("Hi", alone)).toMatchObject({ sources: [], searched: false });
  });

  test("in which the model says NO_REPLY shows no sign of it", async () => {
    const shown: string[] = [];
    const agent = await place.agent({ model: scriptedModel(() => ({ text: "**no_reply**" })) });
    const answer = await agent.ask("one", { signal: never, onText: (delta) => void shown.push(delta) });
    expect([answer.text, shown.join("")]).toEqual(Array(2).fill("(The model had nothing to say to this.)"));
  });

  test("without a model is answered by the built-in responder, and kept as well", async () => {
    const agent = await place.agent();
    const { text, sources } = await agent.ask("What is the gate code of the harbour?", alone);
    expect(text).toContain("> The gate code of the harbour is HX-19.");
    expect(sources).toEqual(["memory/boats.md#L3-L3"]);
    expect(await place.transcript()).toEqual(["user: What is the gate code of the harbour?", `assistant: ${text}`]);
    expect(agent.status()).toMatch(/memory-core[^]*agent:main:main, 2 messages[^]*of 128000 tokens[^]*0 pending/);
  });

  test("knows the day of the user's time zone, and the turns before", async () => {
    const model = scriptedModel((_request, index) => ({ text: `answer ${index}` }));
    const agent = await place.agent({ model, clock: () => new Date("2026-03-01T23:30:00Z") });
    await agent.ask("one", alone);
    await agent.ask("two", alone);
    expect(model.requests[1]?.system).toContain("Today is Monday, 2 March 2026, time zone Europe/Amsterdam.");
    expect(model.requests[1]?.messages.map(({ text }) => text)).toEqual(["one", "answer 0", "two"]);
  });

  test("that fails leaves the question; the same one again is not written twice, and another one goes on", async () => {
    const model = scriptedModel((_request, index) => {
      if (index < 2) throw new Error("the model is away");
      return { text: "here" };
    });
    const agent = await place.agent({ model });
    await expect(agent.ask("one", alone)).rejects.toThrow("the model is away");
    await expect(agent.ask("one", alone)).rejects.toThrow("the model is away");
    expect((await agent.ask("one", alone)).text).toBe("here");
    await agent.ask("two", alone);
    expect(await place.transcript()).toEqual(["user: one", "assistant: here", "user: two", "assistant: here"]);
  });

  test("that is aborted keeps no half answer", async () => {
    const controller = new AbortController();
    const model = scriptedModel(async ({ signal, onText }, index) => {
      if (index > 0) return { text: "whole" };
      onText?.("half an ans");
      controller.abort();
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      return {};
    });
    const agent = await place.agent({ model });
    await expect(agent.ask("one", { signal: controller.signal })).rejects.toMatchObject({ name: "AbortError" });
    expect(agent.unanswered).toBe("one");
    await agent.ask("one", alone);
    expect(await place.transcript()).toEqual(["user: one", "assistant: whole"]);
  });
});

describe("the context window", () => {
  const small = (softThresholdTokens: number): object => ({
    compaction: { reserveTokensFloor: 1000, memoryFlush: { softThresholdTokens } },
  });
  const window = 4700;
  /** What the prompt and the words of the tools take before anything is said. */
  async function promptTokens(): Promise<number> {
    const agent = await place.agent({ model: scriptedModel(() => ({ text: "x" }), 100_000) });
    await agent.ask("x", alone);
    const [, tokens] = /about (\d+) of/.exec(agent.status()) ?? [];
    await agent.close();
    return Number(tokens);
  }
  const long = (name: string): string => `${name} ${"lorem ".repeat(900)}`;
  beforeEach(async () => {
    await place.remove();
    place = await createAgentPlace(small(100));
  });

  test("overflow in a single jump: what is dropped was handed over first, and the question is answered once", async () => {
    const flushed: string[] = [];
    const model = scriptedModel((request) => {
      if (kindOf(request) === "summary") return { text: "They spoke of alpha." };
      if (kindOf(request) === "answer") return { text: "answered" };
      flushed.push(...request.messages.filter(({ role }) => role === "user").map(({ text }) => text.slice(0, 5)));
      return { text: "NO_REPLY" };
    }, window);
    const agent = await place.agent({ model });
    await agent.ask("alpha", alone);
    await agent.ask(long("bravo"), alone);
    expect(model.requests.filter((request) => kindOf(request) === "summary")).toEqual([]);
    await agent.ask(long("charl"), alone);
    await agent.settled();
    expect(flushed.filter((text) => !text.startsWith("Pre-c"))).toEqual(["alpha", "bravo"]);
    expect(place.told.join("\n")).toMatch(/context window is full/);
    const answers = model.requests.filter((request) => kindOf(request) === "answer");
    expect(answers).toHaveLength(3);
    expect(answers[2]?.system).toContain("They spoke of alpha.");
    expect(answers[2]?.messages.map(({ text }) => text.slice(0, 5))).toEqual(["charl"]);
    expect((await place.transcript()).filter((line) => line.startsWith("user: charl"))).toHaveLength(1);
    expect(await place.journal()).toEqual([]);
  });

  test("the flush of a full context starts behind the reply, and a model that hangs in it holds up nothing", async () => {
    let began = (): void => undefined;
    const beginning = new Promise<void>((resolve) => (began = resolve));
    const model = scriptedModel(
      async (request) => {
        if (kindOf(request) === "answer") return { text: "answered" };
        began();
        await new Promise((_, reject) => request.signal.addEventListener("abort", () => reject(request.signal.reason)));
        return {};
      },
      2800 + (await promptTokens()),
    );
    await place.remove();
    place = await createAgentPlace(small(900));
    const agent = await place.agent({ model });
    await agent.ask(long("bravo"), alone);
    await agent.ask("lorem ".repeat(200), alone);
    await beginning;
    expect((await agent.ask("short", alone)).text).toBe("answered");
    expect(agent.pendingFlushes).toBe(1);
    await agent.close();
    expect(await place.journal()).toHaveLength(1);
  });

  test("a question that can never fit is refused, and not kept", async () => {
    const agent = await place.agent({ model: scriptedModel(() => ({ text: "x" }), window) });
    await expect(agent.ask(long(long("x")), alone)).rejects.toThrow(/question is too long.*4700; ask in parts/);
    expect(await place.transcript()).toEqual([]);
  });

  test("tools that return more than the window holds are cut short for the model, and whole in the transcript", async () => {
    await writeFile(
      path.join(place.workspaceDir, "memory", "long.md"),
      `# Long\n\n${"- lorem ipsum dolor sit amet, consectetur adipiscing elit.\n".repeat(500)}`,
    );
    const model = scriptedModel((_request, index) =>
      index < 4 ? { toolCalls: [call("memory_get", { path: "memory/long.md", lines: 120 })] } : { text: "done" },
    );
    const agent = await place.agent({ model: { ...model, contextWindowTokens: window } });
    expect((await agent.ask("read it all", alone)).text).toBe("done");
    for (const { messages } of model.requests)
      expect(messages.reduce((sum, { text }) => sum + text.length / 4, 0)).toBeLessThan(window - 1000);
    const results = (await place.transcript()).filter((line) => line.startsWith("toolResult"));
    expect(results.map((text) => text.length > 2000)).toEqual([true, true, true, true]);
  });

  test("/compact says what it did, and /flush saves and says where", async () => {
    const model = scriptedModel((request) => {
      if (kindOf(request) === "summary") return { text: "A summary." };
      if (kindOf(request) === "answer") return { text: "answered" };
      const isFirst = request.messages.at(-1)?.role === "user";
      return isFirst
        ? { toolCalls: [call("memory_append", { text: "Xi likes tea", kind: "daily" })] }
        : { text: "NO_REPLY" };
    }, window);
    const agent = await place.agent({ model });
    expect(await agent.flush(never)).toMatch(/nothing that is not saved/);
    expect(await agent.compact(never)).toMatch(/nothing to compact/);
    await agent.ask("one", alone);
    await agent.ask("two", alone);
    expect(await agent.flush(never)).toMatch(/saved 4 messages to memory\/\d{4}-\d\d-\d\d\.md#L\d+/);
    expect(await place.notes()).toContain("Xi likes tea");
    expect(await agent.compact(never)).toMatch(/^2 messages are now a summary \(by model\)/);
    expect(place.told).toEqual([]);
  });
});

describe("sessions", () => {
  test("/new hands over what was said, begins anew, and a note describes what ended", async () => {
    const flushed: string[] = [];
    const model = scriptedModel((request) => {
      const kind = kindOf(request);
      if (kind === "note") return { text: "harbour talk\n- Xi asked for the code." };
      if (kind === "flush") flushed.push(...request.messages.map(({ text }) => text));
      return { text: kind === "flush" ? "NO_REPLY" : "answered" };
    });
    const agent = await place.agent({ model });
    expect(await agent.newSession(never)).toMatch(/This session is new/);
    await agent.ask("before", alone);
    expect(await agent.newSession(never)).toMatch(/a note, memory\/\d{4}-\d\d-\d\d-harbour-talk\.md/);
    await agent.ask("after", alone);
    await agent.settled();
    expect(flushed).toContain("before");
    expect(model.requests.at(-1)?.messages.map(({ text }) => text)).not.toContain("before");
    expect(await place.notes()).toContain("- Xi asked for the code.");
    expect(await place.journal()).toEqual([]);
  });

  test("a question that was left open is told after a restart and answered once", async () => {
    const first = await place.agent({ model: scriptedModel(() => Promise.reject(new Error("gone"))) });
    await expect(first.ask("left open", alone)).rejects.toThrow("gone");
    await first.close();
    const second = await place.agent();
    expect(second.unanswered).toBe("left open");
    await second.ask(second.unanswered ?? "", alone);
    expect(second.unanswered).toBeUndefined();
    await second.close();
    expect((await place.agent()).unanswered).toBeUndefined();
    expect((await place.transcript()).filter((line) => line === "user: left open")).toHaveLength(1);
  });

  test("a session that is in use elsewhere is left alone, and told", async () => {
    const sessions = await openSessions({ stateDir: place.stateDir, agentId: "main" });
    const other = await sessions.open("agent:main:main");
    await other.append({ role: "user", text: "theirs" });
    const agent = await place.agent();
    expect(place.told.join("\n")).toMatch(/open in process[^]*agent:main:tui:[0-9a-f]{8}/);
    await agent.ask("mine", alone);
    expect(other.context.messages.map(({ text }) => text)).toEqual(["theirs"]);
    await sessions.close();
  });
});

describe("the memory behind it", () => {
  test("turned off: what leaves the conversation is not written to the notes either", async () => {
    const before = await place.notes();
    const agent = await place.agent({ memory: undefined, offReason: "for a test" });
    for (const question of ["My locker is 88.", "My desk is 12."]) await agent.ask(question, alone);
    await agent.compact(never);
    await agent.settled();
    expect(await place.notes()).toBe(before);
    expect(await place.journal()).toEqual([]);
  });

  test("turned off in mid-conversation: no tools, and the responder says so", async () => {
    const agent = await place.agent();
    agent.useMemory(undefined, "for a test");
    expect((await agent.ask("gate code?", alone)).text).toMatch(/^Memory is off \(for a test\)/);
    agent.useMemory(place.memory);
    expect((await agent.ask("gate code of the harbour?", alone)).text).toContain("HX-19");
  });
});
