import { estimateTokens } from "@memslot/indexing/host";
import { beforeEach, describe, expect, test } from "vitest";
import { type ConversationMessage, flushPrompts, type FlushTurn, isNoReply, runToolCall } from "@memslot/agent-kit";
import flushes from "../data/flushes.json" with { type: "json" };
import { fakeMemory } from "../support/fake-memory.ts";
import { type FlushHouse, assistant, talk, useFlushHouse, user, watching, retry } from "./support/flush-house.ts";

let house: FlushHouse;
beforeEach(() => void (house = useFlushHouse()));

describe("in a flush turn", () => {
  test("there are two tools, and neither takes a path or a date", async () => {
    const answers: object[] = [];
    const runTurn: FlushTurn = async ({ tools }) => {
      expect(tools.map(({ name }) => name)).toEqual(["memory_search", "memory_append"]);
      const call = async (name: string, input: object): Promise<void> =>
        void answers.push(await runToolCall(tools, { name, arguments: JSON.stringify(input) }));
      await call("write", { path: "memory/2026-03-05.md", content: "gone" });
      await call("memory_append", { text: "x", kind: "daily", path: "memory/2020-01-01.md" });
      await call("memory_append", { text: "x", kind: "daily", date: "2020-01-01" });
      await call("memory_append", { text: "On 2020-01-01 he was born.", kind: "daily" });
      return "Saved.";
    };
    const { report } = await house.drop(talk, { runTurn });
    expect(report).toMatchObject({ state: "done", entries: ["memory/2026-03-05.md#L3-L3"] });
    expect(answers).toMatchObject([
      { error: expect.stringContaining('no tool "write"') },
      { code: "INVALID_ARGUMENT", field: "path" },
      { code: "INVALID_ARGUMENT", field: "date" },
      { status: "ok", day: "2026-03-05" },
    ]);
    expect(house.note("2020-01-01")).toBe("");
  });

  test("a secret is masked, and the rest of its note is kept", async () => {
    const token = `glwt-${"a1B2c3D4e5".repeat(2)}`;
    const runTurn: FlushTurn = async ({ tools }) => {
      const input = { text: `The boat is Heron, its bot has ${token}.`, kind: "daily" };
      for (let time = 0; time < 2; time++)
        await runToolCall(tools, { name: "memory_append", arguments: JSON.stringify(input) });
      return "Saved.";
    };
    expect((await house.drop(talk, { runTurn })).report).toMatchObject({ state: "done" });
    expect(house.note("2026-03-05")).toMatch(
      /- \d\d:\d\d The boat is Heron, its bot has \[redacted: GitLab token\]\.\n$/,
    );
  });

  test("a model with more notes than a turn takes is told so, and writes the others in the next one", async () => {
    let refusals = 0;
    const flush = await house.open({
      runTurn: async ({ tools }) => {
        for (let index = 0; index < 60; index++) {
          const text = `Fact number ${index}.`;
          const call = { name: "memory_append", arguments: JSON.stringify({ text, kind: "daily" }) };
          if ("error" in (await runToolCall(tools, call))) refusals++;
        }
        return "NO_REPLY";
      },
    });
    await flush.beforeDrop(talk);
    expect(await flush.settled()).toMatchObject({ state: "done", tries: 2 });
    expect(refusals).toBe(10);
    expect(house.note("2026-03-05").match(/Fact number/g)).toHaveLength(60);
  });

  const call = (name: string, text: string): { name: string; arguments: string } => ({ name, arguments: text });
  test.each(flushes.unfinished as [string, ReturnType<typeof call>[], string, string][])(
    "a model that %s is not done, is told why, and the messages stay",
    async (_, calls, said, problem) => {
      const runTurn = watching(async ({ tools, signal }) => {
        for (const each of calls) await runToolCall(tools, each, { signal });
        return said;
      });
      const { flush, report } = await house.drop(talk, { runTurn });
      expect(report).toMatchObject({ state: "failed", reason: expect.stringMatching(new RegExp(problem)), tries: 3 });
      expect(flush.status.pending).toBe(1);
      const [first, second] = runTurn.given.map(({ prompt }) => prompt);
      expect(first).not.toContain("another try");
      expect(second).toMatch(new RegExp(problem));
      const hasNote = calls.some((each) => each.arguments.includes("is called Heron"));
      expect(second?.includes("- The boat is called Heron.")).toBe(hasNote);
      await retry(flush);
      expect(await retry(flush)).toMatchObject({ state: "digested" });
      expect(house.notes().match(/Heron/g)).toHaveLength(1);
      expect(flush.status.pending).toBe(1);
    },
  );

  test("a search looks at the notes alone, as the session, and one with wrong arguments costs nothing", async () => {
    const memory = fakeMemory({ workspaceDir: house.workspaceDir });
    const flush = await house.open({
      memory,
      runTurn: async ({ tools }) => {
        for (const given of ['{"query":', '{"q":"boat"}', '{"query":"boat","corpus":"sessions"}'])
          await runToolCall(tools, call("memory_search", given));
        return "NO_REPLY";
      },
    });
    await flush.beforeDrop(talk);
    expect(await flush.settled()).toMatchObject({ state: "nothing", tries: 1 });
    expect(memory.searches).toMatchObject([
      { query: "boat", options: { sources: ["memory"], sessionKey: "agent:main:main" } },
    ]);
  });
});

describe("the messages of a turn", () => {
  const gave = (id: string, toolCallId: string, text: string, at?: string): ConversationMessage => ({
    ...user(id, text, at),
    role: "tool",
    toolCallId,
    toolName: "memory_search",
  });
  const asked = (id: string, calls: string[], at?: string, text = ""): ConversationMessage => ({
    ...assistant(id, text, at),
    toolCalls: calls.map((each) => ({ id: each, name: "memory_search", arguments: '{"query":"x"}' })),
  });

  /** What the model gets, turn by turn. */
  async function turnsOf(messages: readonly ConversationMessage[], contextWindowTokens?: number) {
    house = useFlushHouse();
    const runTurn = watching(async () => "NO_REPLY");
    const { report } = await house.drop(messages, {
      runTurn,
      contextWindowTokens,
      clock: () => new Date("2026-01-01T12:00:00Z"),
    });
    expect(report).toMatchObject({ state: "nothing", messages: messages.length });
    return runTurn.given.map(({ messages: given, prompt }) => {
      const [, day, time] = /(\d{4}-\d\d-\d\d), up to (\d\d:\d\d)/.exec(prompt) ?? [];
      return { day, time, given, ids: given.map(({ id }) => id) };
    });
  }

  test.each([
    // Clocks go forward at 02:00 and back at 03:00: a day has 23 or 25 hours.
    ["2026-03-29", "2026-03-28T23:00:00.000Z", "2026-03-29T21:59:59.000Z"],
    ["2026-10-25", "2026-10-24T22:00:00.000Z", "2026-10-25T22:59:59.000Z"],
  ])("are cut at midnight also where clocks change: %s", async (day, first, last) => {
    const before = new Date(Date.parse(first) - 1_000).toISOString();
    const after = new Date(Date.parse(last) + 1_000).toISOString();
    const times = [before, first, last, after];
    const turns = await turnsOf(times.map((at, index) => user(String(index), "x", at)));
    expect(turns.map(({ ids }) => ids.join())).toEqual(["0", "1,2", "3"]);
    expect(turns[1]?.day).toBe(day);
  });

  test("have the result of a tool with its call over midnight, shortened, and dated with the call", async () => {
    const turns = await turnsOf([
      user("u1", "Where?", "2026-03-05T22:59:50.000Z"),
      asked("a1", ["c1"], "2026-03-05T22:59:58.000Z"),
      gave("t1", "c1", `${"y".repeat(498)}😀😀😀`, "2026-03-05T23:00:02.000Z"),
      assistant("a2", "There.", "2026-03-05T23:00:05.000Z"),
    ]);
    expect(turns).toMatchObject([
      { day: "2026-03-05", time: "23:59", ids: ["u1", "a1", "t1"] },
      { day: "2026-03-06", time: "00:00", ids: ["a2"] },
    ]);
    expect(turns[0]?.given[2]?.text).toBe(`${"y".repeat(498)}…`);
    const long = await turnsOf(
      [
        asked("a1", ["c1"], "2026-03-05T22:59:58.000Z", "word ".repeat(300)),
        gave("t1", "c1", "y".repeat(2_000), "2026-03-05T23:00:02.000Z"),
      ],
      512,
    );
    expect(long.at(-1)).toMatchObject({ day: "2026-03-05", time: "23:59", ids: ["t1"] });
  });

  test("never have a call without an answer, or an answer without a call", async () => {
    const [turn] = await turnsOf([
      asked("a1", ["c1", "c2"]),
      gave("t2", "c2", "two"),
      gave("t9", "c9", "nine"),
      asked("a3", ["c4"], undefined, "And?"),
    ]);
    expect(turn?.given).toMatchObject(flushes.givenRound);
    expect(turn?.given[3]).not.toHaveProperty("toolCalls");
  });

  test("are not cut between a call and its answer", async () => {
    const messages = [user("u1", "word ".repeat(160)), asked("a1", ["c1"]), gave("t1", "c1", "z".repeat(400))];
    expect((await turnsOf(messages, 512)).map(({ ids }) => ids)).toEqual([["u1"], ["a1", "t1"]]);
  });

  test.each([
    ["words", "word ".repeat(4_000)],
    ["lines", "a line of text\n".repeat(1_500)],
    ["one word", "x".repeat(20_000)],
    ["Chinese", "记忆".repeat(3_000)],
    ["emoji", "😀".repeat(3_000)],
  ])("are the pieces of one that is too large for the model, all of it: %s", async (_, text) => {
    const turns = await turnsOf([user("u0", "before"), user("u1", text), user("u2", "after")], 1_000);
    const pieces = turns.flatMap(({ given }) => given).filter(({ id }) => id === "u1");
    expect(pieces.length).toBeGreaterThan(5);
    expect(pieces.map((piece) => piece.text).join("")).toBe(text);
    for (const piece of pieces) {
      expect(piece.text.isWellFormed()).toBe(true);
      expect(estimateTokens(piece.text)).toBeLessThanOrEqual(500);
    }
  });

  test("are not saved before the last piece is taken", async () => {
    const runTurn: FlushTurn = async ({ messages }) => {
      if (messages.some(({ text }) => text.includes("last"))) throw new Error("the model is down");
      return "NO_REPLY";
    };
    const flush = await house.open({ runTurn, contextWindowTokens: 1_000 });
    const text = `${"word ".repeat(2_000)}last`;
    await flush.beforeDrop([user("u0", "before"), user("u1", text)]);
    expect(await flush.settled()).toMatchObject({ state: "failed" });
    await flush.close();
    const later = watching(async () => "NO_REPLY");
    const again = await house.open({ runTurn: later, contextWindowTokens: 1_000 });
    await retry(again);
    const given = later.given.flatMap(({ messages }) => messages);
    expect([...new Set(given.map(({ id }) => id))]).toEqual(["u1"]);
    expect(given.map((piece) => piece.text).join("")).toBe(text);
  });
});

describe("the prompts of a flush turn", () => {
  const promptsWith = (memoryFlush: Record<string, unknown>): ReturnType<typeof flushPrompts> =>
    flushPrompts(useFlushHouse().agentWith({ memoryFlush }).compaction, {
      day: "2026-03-05",
      time: "23:59",
      timeZone: "Asia/Shanghai",
    });

  test("say when the messages are from, what may be done, and how to be silent", () => {
    const { prompt, systemPrompt } = promptsWith({});
    expect(prompt).toMatch(/^Pre-compaction memory flush\b/);
    for (const word of flushes.wordsOfPrompts) expect(prompt).toContain(word);
    for (const word of ["NO_REPLY", "memory_append"]) expect(systemPrompt).toContain(word);
  });

  test("are the configured ones, with what they lack and without change if they lack nothing", () => {
    const own = promptsWith({ prompt: "Write down the dates.", systemPrompt: "You are a clerk." });
    expect(own.prompt).toMatch(/^Pre-compaction memory flush\. Write down the dates\.\n\n.*NO_REPLY/s);
    expect(own.systemPrompt).toMatch(/^You are a clerk\.\n\n.*NO_REPLY/s);
    const prompt = "Pre-compaction memory flush: note the dates, or say NO_REPLY.";
    const systemPrompt = "Say NO_REPLY when done.";
    expect(promptsWith({ prompt, systemPrompt })).toEqual({ prompt, systemPrompt });
  });
});

test("the sentinel is known in whatever marks, and not in a sentence", () => {
  const known = ["NO_REPLY", " no_reply.\n", "**NO_REPLY**", "`NO_REPLY`", '"NO_REPLY"', "```\nNO_REPLY\n```"];
  known.push('{"action":"NO_REPLY"}', '```json\n{ "action": "NO_REPLY" }\n```', "（NO_REPLY）");
  const others = ["", "NO_REPLY is what I say", "Done. NO_REPLY", "NO REPLY", `NO_REPLY${" ".repeat(300)}`];
  expect([...known, ...others].filter((text) => isNoReply(text))).toEqual(known);
});
