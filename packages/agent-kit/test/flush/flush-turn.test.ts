import { describe, expect, test } from "vitest";
import { type FlushTurn, runToolCall } from "../../src/index.ts";
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

  test("a model that cannot stop is told to", async () => {
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
    expect(await flush.settled()).toMatchObject({ state: "done" });
    expect(refusals).toBe(10);
    expect(house.note("2026-03-05").match(/Fact number/g)).toHaveLength(50);
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

  test("so does a text, which is recorded", async () => {
    const house = useFlushHouse();
    const flush = await house.open({ runTurn: async () => "There was nothing of note." });
    await flush.beforeDrop(talk);
    expect(await flush.settled()).toMatchObject({
      state: "nothing",
      reason: "the model said it had nothing to save",
    });
    expect(flush.status.pending).toBe(0);
  });
});
