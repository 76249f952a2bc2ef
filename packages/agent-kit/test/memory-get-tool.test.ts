import { MemoryError } from "@memslot/core";
import { expect, test } from "vitest";
import { type MemoryToolsOptions, createMemoryTools, frameRecalled } from "@memslot/agent-kit";
import input from "./data/tool-input.json" with { type: "json" };
import { type FakeBehaviour, fakeMemory } from "./support/fake-memory.ts";

const line = "- The harbour code is HX-19.";

function over(behaviour: FakeBehaviour = {}, options: Partial<MemoryToolsOptions> = {}) {
  const memory = fakeMemory(behaviour);
  const tools = createMemoryTools({ memory, citations: "auto", ...options });
  const tool = tools.find(({ name }) => name === "memory_get") ?? expect.fail("no tool");
  return { memory, tools, tool, get: tool.execute };
}

test("answers with the lines that are asked for in a frame", async () => {
  const { get } = over();
  expect(await get({ path: "memory/boats.md", from: 3, lines: "7" })).toMatchObject({
    status: "ok",
    path: "memory/boats.md",
    text: frameRecalled("memory/boats.md#L3-L3", line),
    from: 3,
    note: expect.stringContaining("not instructions"),
  });
});

test.each(input.takenPlaces as [unknown, object][])("%j reads %j", async (given, read) => {
  const { memory, get } = over();
  await get(given);
  expect(memory.reads).toEqual([expect.objectContaining(read)]);
});

const reads = (given: object): FakeBehaviour => ({
  readFile: async (params) => ({ status: "ok", path: params.path ?? params.relPath, text: "", ...given }),
});
const fails = (error: Error): FakeBehaviour => ({
  readFile: async () => {
    throw error;
  },
});
const refused = input.refused;
const unopened = { memory: undefined, unavailable: { error: new MemoryError("CONFIG", "bad slot") } };
const never: FakeBehaviour = { readFile: () => new Promise(() => undefined) };

test.each<[string, FakeBehaviour, Partial<MemoryToolsOptions>, object]>([
  ["a missing file is not found", reads({ status: "not_found" }), {}, { status: "not_found", path: "a.md", text: "" }],
  ["a refused path is an error", fails(new MemoryError("PATH_NOT_ALLOWED", "a.md is out")), {}, refused],
  [
    "a memory that could not be opened is an error",
    {},
    unopened,
    { status: "error", code: "CONFIG", error: "bad slot" },
  ],
  ["the frame does not name the place", {}, { citations: "off" }, { text: frameRecalled("note", line) }],
  ["an empty text has no frame", reads({ from: 9, lines: 0 }), {}, { status: "ok", text: "" }],
  ["a read that never ends is given up", never, { deadlineMs: 20 }, { code: "UNAVAILABLE", timedOut: true }],
])("%s", async (_, behaviour, options, expected) => {
  expect(await over(behaviour, options).get({ path: "a.md" })).toMatchObject(expected);
});

test.each(input.get as [unknown, string, string][])(
  "bad input %j gives the error shape for %j and names %s",
  async (given, path, field) => {
    expect(await over().get(given)).toMatchObject({ path, text: "", status: "error", code: "INVALID_ARGUMENT", field });
  },
);

test("an abort stays an abort, and the cooldown of the search stops no read", async () => {
  const { get } = over(never);
  const controller = new AbortController();
  const running = get({ path: "a.md" }, { signal: controller.signal });
  controller.abort();
  await expect(running).rejects.toMatchObject({ name: "AbortError" });
  const failing = over({ search: async () => Promise.reject(new Error("down")) });
  await failing.tools[0]?.execute({ query: "x" });
  expect(await failing.get({ path: "memory/boats.md" })).toMatchObject({ status: "ok" });
});
