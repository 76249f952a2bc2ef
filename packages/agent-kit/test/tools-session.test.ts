import { MemoryError } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { type MemoryToolsOptions, createMemoryTools } from "@memslot/agent-kit";
import data from "./data/answers.json" with { type: "json" };
import { type FakeBehaviour, type FakeMemory, fakeMemory, withPatterns } from "./support/fake-memory.ts";

const group = "agent:main:telegram:group:-100123";
const own = "agent:main:telegram:direct:7";

interface Session {
  memory: FakeMemory;
  run: (name: string, input: object) => Promise<object>;
}

function session(options: Partial<MemoryToolsOptions>, behaviour: FakeBehaviour = {}): Session {
  const memory = fakeMemory(behaviour);
  const tools = createMemoryTools({ memory, citations: "auto", ...options });
  const run = async (name: string, input: object): Promise<object> =>
    tools.find((tool) => tool.name === name)?.execute(input) ?? {};
  return { memory, run };
}

describe("the session of a set of tools", () => {
  test.each<[Partial<MemoryToolsOptions>, string | undefined]>([
    [{ sessionKey: group }, group],
    [{ sessionKey: own }, own],
    [{ sessionKey: undefined }, undefined],
    [{ chatType: "group" }, "agent:main:group:unnamed"],
    [{ chatType: "group", sessionKey: own }, "agent:main:group:unnamed"],
    [{ chatType: "group", sessionKey: group }, group],
  ])("of %j goes with every search and every read as %s", async (options, sessionKey) => {
    const { memory, run } = session(options);
    await run("memory_search", { query: "harbour" });
    await run("memory_get", { path: "memory/boats.md" });
    expect([memory.searches[0]?.options.sessionKey, memory.reads[0]?.sessionKey]).toEqual([sessionKey, sessionKey]);
  });

  test.each(data.recallCalls as [string, object][])("cannot be named by the model in %s", async (tool, input) => {
    const { memory, run } = session({ sessionKey: group });
    expect(await run(tool, { ...input, sessionKey: own })).toMatchObject({
      code: "INVALID_ARGUMENT",
      field: "sessionKey",
      error: expect.stringContaining('unknown field "sessionKey"'),
    });
    expect([...memory.searches, ...memory.reads]).toEqual([]);
  });

  test.each(["UNAVAILABLE", "PLUGIN", "BUSY", "WORKSPACE"] as const)(
    "that others read is not told the words of a failure, which may name a note: %s",
    async (code) => {
      const fail = async (): Promise<never> =>
        Promise.reject(new MemoryError(code, "process 7 is at work on the index (watch, 3 of 9 memory/divorce.md)"));
      const behaviour: FakeBehaviour = { search: fail, readFile: fail };
      for (const [name, input] of [
        ["memory_search", { query: "harbour" }],
        ["memory_get", { path: "docs/team.md" }],
      ] as const) {
        expect(JSON.stringify(await session({ sessionKey: own }, behaviour).run(name, input))).toContain("divorce");
        const told = await session({ sessionKey: group }, behaviour).run(name, input);
        expect(JSON.stringify(told)).not.toMatch(/divorce|3 of 9/);
        expect(told).toMatchObject({ error: "memory is unavailable" });
      }
    },
  );

  test("that others read is not told what a status says of a spare", async () => {
    const fallback = { from: "qmd", to: "memory-core", reason: "qmd update failed: memory/divorce.md" };
    const run = async (sessionKey: string): Promise<string> =>
      JSON.stringify(
        await session({ sessionKey }, { status: { fallback } }).run("memory_search", { query: "x", debug: true }),
      );
    expect(await run(own)).toContain("divorce");
    expect(await run(group)).not.toContain("divorce");
  });

  test.each(["agent:other:main", " ", 5])("that is wrong is told to the host at once: %j", (sessionKey) => {
    expect(() => session({ sessionKey: sessionKey as string })).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  });

  test("decides about citations where the host says nothing of the chat", async () => {
    const cited = async (sessionKey: string | undefined): Promise<boolean> => {
      const output = await session({ sessionKey }).run("memory_search", { query: "harbour" });
      return Object.hasOwn(output, "cite");
    };
    expect([await cited(group), await cited(own), await cited(undefined)]).toEqual([false, true, true]);
  });
});

describe("an answer in a group", () => {
  test("tells nothing of how many private notes there were", async () => {
    const dropped = { minScore: 0, source: 0, limit: 0, audience: 4 };
    const output = await session({ sessionKey: group }, { search: async () => [], report: { dropped } }).run(
      "memory_search",
      { query: "harbour", debug: true },
    );
    expect(output).toMatchObject({ action: expect.stringContaining("may be told here") });
    expect(output).toHaveProperty("debug.dropped", { minScore: 0, source: 0, limit: 0 });
  });

  test("tells who is at work on the index, and not on which note", async () => {
    const writer = { pid: 1, reason: "cli", since: "2026-11-21T12:00:00Z", label: "memory/surprise.md" };
    const behaviour: FakeBehaviour = { report: { state: "stale" }, status: { writer } };
    const output = await session({ sessionKey: group }, behaviour).run("memory_search", { query: "harbour" });
    expect(output).toMatchObject({ warning: expect.stringContaining("by process 1 (cli).") });
    expect(JSON.stringify(output)).not.toContain("surprise");
  });
});

test.each(data.writers as [string, FakeBehaviour, object][])(
  "an answer from an incomplete index %s",
  async (_, behaviour, expected) => {
    const { writer } = behaviour.status ?? {};
    const status = writer && { writer: { ...writer, pid: writer.pid === 0 ? process.pid : writer.pid } };
    const answer = await session({}, { ...behaviour, ...(status && { status }) }).run("memory_search", {
      query: "harbour",
    });
    expect(answer).toMatchObject(withPatterns(expected));
  },
);
