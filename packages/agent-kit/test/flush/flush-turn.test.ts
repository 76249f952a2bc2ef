import { describe, expect, test } from "vitest";
import { type FlushTurn, runToolCall } from "@memslot/agent-kit";
import { fakeMemory } from "../fake-memory.ts";
import { noteTaker, talk, useFlushHouse, watching } from "./support/flush-house.ts";

describe("in a flush turn", () => {
  test("there are two tools, and neither takes a path or a date", async () => {
    const house = useFlushHouse();
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
    const flush = await house.open({ runTurn });
    await flush.beforeDrop(talk);
    expect(await flush.settled()).toMatchObject({ state: "done", entries: ["memory/2026-03-05.md#L3-L3"] });
    expect(answers).toMatchObject([
      { error: expect.stringContaining('no tool "write"') },
      { code: "INVALID_ARGUMENT", field: "path" },
      { code: "INVALID_ARGUMENT", field: "date" },
      { status: "ok", day: "2026-03-05" },
    ]);
    expect(house.note("2020-01-01")).toBe("");
  });

  test("notes can be added where memory is not open", async () => {
    const house = useFlushHouse();
    const runTurn = watching(noteTaker);
    const flush = await house.open({ runTurn, memory: undefined });
    await flush.beforeDrop(talk);
    expect(await flush.settled()).toMatchObject({ state: "done" });
    expect(runTurn.given[0]?.tools.map(({ name }) => name)).toEqual(["memory_append"]);
    expect(house.note("2026-03-05")).toContain("Heron");
  });

  test("a search asks memory as the session", async () => {
    const house = useFlushHouse();
    const memory = fakeMemory({ workspaceDir: house.workspaceDir });
    const flush = await house.open({
      memory,
      runTurn: async ({ tools }) => {
        await runToolCall(tools, { name: "memory_search", arguments: '{"query":"boat"}' });
        return "NO_REPLY";
      },
    });
    await flush.beforeDrop(talk);
    await flush.settled();
    expect(memory.searches).toMatchObject([{ query: "boat", options: { sessionKey: "agent:main:main" } }]);
  });

  test("the sentinel never becomes a note", async () => {
    const house = useFlushHouse();
    const flush = await house.open({
      runTurn: async ({ tools }) => {
        for (const text of ["NO_REPLY", "The boat is Heron.\nNO_REPLY", "The boat is Heron."])
          await runToolCall(tools, { name: "memory_append", arguments: JSON.stringify({ text, kind: "daily" }) });
        return "NO_REPLY";
      },
    });
    await flush.beforeDrop(talk);
    expect(await flush.settled()).toMatchObject({ state: "done" });
    expect(house.notes()).toBe("# 2026-03-05\n\n- 11:00 The boat is Heron.\n");
  });

  test("a model with more notes than a turn takes is told so, and writes the others in the next one", async () => {
    const house = useFlushHouse();
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

  test.each(["NO_REPLY", " no_reply. ", "```\nNO_REPLY\n```"])(
    "%j says that there is nothing to keep",
    async (said) => {
      const house = useFlushHouse();
      const flush = await house.open({ runTurn: async () => said });
      await flush.beforeDrop(talk);
      expect(await flush.settled()).toEqual({
        state: "nothing",
        entries: [],
        messages: 2,
        tries: 1,
        days: ["2026-03-05"],
      });
      expect(house.journal()).toEqual([]);
      expect(house.notes()).toBe("");
    },
  );

  const call = (name: string, text: string): { name: string; arguments: string } => ({ name, arguments: text });
  const good = call("memory_append", '{"text":"The boat is called Heron.","kind":"daily"}');
  const refusedNote = call("memory_append", '{"text":"<!-- The boat -->","kind":"daily"}');
  test.each<[string, { name: string; arguments: string }[], string, RegExp]>([
    ["answers in words", [], "There was nothing of note.", /answered in words/],
    ["refuses", [], "I'm sorry, but I can't help with that.", /answered in words/],
    ["puts the sentinel into a sentence", [], "I would say NO_REPLY here.", /answered in words/],
    ["is cut short", [], "NO_REP", /answered in words/],
    ["says nothing", [], " \n", /empty answer/],
    ["sends a broken note", [call("memory_append", '{"text":"The boat is cal')], "NO_REPLY", /not valid JSON/],
    ["sends a note without a kind", [call("memory_append", '{"text":"The boat"}')], "NO_REPLY", /kind is missing/],
    ["has a note refused", [refusedNote], "NO_REPLY", /HTML comment/],
    ["has the last note refused", [good, refusedNote], "NO_REPLY", /HTML comment/],
    ["calls a tool that is not there", [call("write_file", '{"path":"x"}')], "NO_REPLY", /no tool "write_file"/],
    ["calls one after a note", [good, call("save_memory", "{}")], "NO_REPLY", /no tool "save_memory"/],
  ])("a model that %s is not done, is told why, and the messages stay", async (_, calls, said, problem) => {
    const house = useFlushHouse();
    const runTurn = watching(async ({ tools, signal }) => {
      for (const each of calls) await runToolCall(tools, each, { signal });
      return said;
    });
    const flush = await house.open({ runTurn });
    await flush.beforeDrop(talk);
    const report = await flush.settled();
    expect(report).toMatchObject({ state: "failed", reason: expect.stringMatching(problem), tries: 3 });
    expect(flush.status.pending).toBe(1);
    const [first, second] = runTurn.given.map(({ prompt }) => prompt);
    expect(first).not.toContain("another try");
    expect(second).toMatch(problem);
    const hasNote = calls.includes(good);
    expect(second?.includes("- The boat is called Heron.")).toBe(hasNote);
    flush.retry();
    await flush.settled();
    flush.retry();
    expect(await flush.settled()).toMatchObject({ state: "digested" });
    expect(house.notes().match(/Heron/g)).toHaveLength(1);
    expect(flush.status.pending).toBe(1);
  });

  test("a search that was asked for wrongly costs nothing", async () => {
    const house = useFlushHouse();
    const flush = await house.open({
      runTurn: async ({ tools }) => {
        await runToolCall(tools, call("memory_search", '{"query":'));
        await runToolCall(tools, call("memory_search", '{"q":"boat"}'));
        return "NO_REPLY";
      },
    });
    await flush.beforeDrop(talk);
    expect(await flush.settled()).toMatchObject({ state: "nothing", tries: 1 });
  });

  test("a search looks at the notes alone: journal and transcripts hold what is to become a note", async () => {
    const house = useFlushHouse();
    const memory = fakeMemory({ workspaceDir: house.workspaceDir });
    const flush = await house.open({
      memory,
      runTurn: async ({ tools }) => {
        await runToolCall(tools, call("memory_search", '{"query":"boat","corpus":"sessions"}'));
        return "NO_REPLY";
      },
    });
    await flush.beforeDrop(talk);
    await flush.settled();
    expect(memory.searches).toMatchObject([{ options: { sources: ["memory"] } }]);
  });
});
