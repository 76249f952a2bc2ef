import { type Memory, MemoryError, type SearchAnswer } from "@memslot/core";
import { describe, expect, test, vi } from "vitest";
import { type McpMemoryOptions, createMcpMemory } from "./mcp-memory.ts";

const report = { state: "ok", dropped: { minScore: 0, source: 0, limit: 0 } } as SearchAnswer["report"];

/** A memory of the calls that the server makes. */
function memoryThat(behaviour: Partial<Memory> = {}): Memory {
  const memory: Partial<Memory> = {
    agentId: "main",
    workspaceDir: "/nowhere",
    ownerAllowFrom: [],
    ask: async () => ({ results: [], report }),
    status: () => ({ backend: "fake", provider: "none" }),
    sync: async () => undefined,
  };
  return { ...memory, ...behaviour } as Memory;
}

function setUp(openMemory: McpMemoryOptions["openMemory"]) {
  const notices: string[] = [];
  const clock = { nowMs: 0 };
  const closeMemory = vi.fn<McpMemoryOptions["closeMemory"]>(async () => undefined);
  const memory = createMcpMemory({
    openMemory,
    tools: { citations: "auto" },
    closeMemory,
    notice: (line) => notices.push(line),
    onBadConfig: () => undefined,
    now: () => clock.nowMs,
  });
  const [searchTool] = memory.tools;
  const search = async (signal = new AbortController().signal): Promise<object> => {
    if (searchTool === undefined) throw new Error("no tool");
    return memory.call(searchTool, { query: "espresso" }, { signal });
  };
  return { memory, notices, clock, closeMemory, search };
}

describe("the memory behind the server", () => {
  test("is tried again some time after a failure, and not with every call", async () => {
    let fails = true;
    const open = vi.fn<() => Promise<Memory>>(async () => {
      if (fails) throw new MemoryError("WORKSPACE", "the workspace is not there");
      return memoryThat();
    });
    const { memory, search, clock, notices } = setUp(open);
    memory.start();
    const unavailable = { unavailable: true, error: "the workspace is not there" };
    expect(await search()).toMatchObject(unavailable);
    fails = false;
    clock.nowMs = 4999;
    expect(await search()).toMatchObject(unavailable);
    expect(open).toHaveBeenCalledTimes(1);
    clock.nowMs = 5000;
    expect(await search()).toMatchObject({ state: "ok" });
    expect(await search()).toMatchObject({ state: "ok" });
    expect(open).toHaveBeenCalledTimes(2);
    expect(notices).toEqual(["the memory could not be opened: the workspace is not there"]);
  });

  test("whose index cannot be brought up to date is searched all the same", async () => {
    const { memory, search, notices } = setUp(async () =>
      memoryThat({
        sync: async () => {
          throw new MemoryError("BUSY", "process 1 is at work");
        },
      }),
    );
    memory.start();
    expect(await search()).toMatchObject({ state: "ok" });
    expect(notices).toEqual(["the index could not be brought up to date: process 1 is at work"]);
  });

  test("that is opened while it is being closed is closed too", async () => {
    const opening = Promise.withResolvers<Memory>();
    const { memory, closeMemory } = setUp(() => opening.promise);
    memory.start();
    const closed = memory.close();
    opening.resolve(memoryThat());
    await closed;
    expect(closeMemory).toHaveBeenCalledTimes(1);
  });

  test("leaves a call that is aborted at once, while the opening goes on", async () => {
    const opening = Promise.withResolvers<Memory>();
    const { memory, search } = setUp(() => opening.promise);
    memory.start();
    const leaving = new AbortController();
    const left = search(leaving.signal);
    leaving.abort();
    await expect(left).rejects.toMatchObject({ name: "AbortError" });
    opening.resolve(memoryThat());
    expect(await search()).toMatchObject({ state: "ok" });
  });
});
