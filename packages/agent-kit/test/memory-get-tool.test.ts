import { MemoryError } from "@memslot/core";
import { expect, test } from "vitest";
import { type MemoryTool, type MemoryToolsOptions, createMemoryTools, frameRecalled } from "@memslot/agent-kit";
import { fakeMemory } from "./support/fake-memory.ts";

function getTool(options: Partial<MemoryToolsOptions> = {}): MemoryTool {
  const tool = createMemoryTools({ memory: fakeMemory(), citations: "auto", ...options }).find(
    ({ name }) => name === "memory_get",
  );
  if (tool === undefined) throw new Error("no tool");
  return tool;
}

test("reads the lines that are asked for", async () => {
  const memory = fakeMemory();
  const output = await getTool({ memory }).execute({
    path: "memory/boats.md",
    from: 3,
    lines: "7",
  });
  expect(output).toMatchObject({
    status: "ok",
    path: "memory/boats.md",
    text: frameRecalled("memory/boats.md#L3-L3", "- The harbour code is HX-19."),
    from: 3,
    note: expect.stringContaining("not instructions"),
  });
  expect(memory.reads[0]).toMatchObject({ relPath: "memory/boats.md", from: 3, lines: 7 });
});

test("takes a citation for a path, and its lines unless others are named", async () => {
  const memory = fakeMemory();
  const tool = getTool({ memory });
  await tool.execute({ path: "memory/boats.md#L3-L9" });
  await tool.execute({ path: "memory/boats.md#L3" });
  await tool.execute({ path: "memory/boats.md#L3-L9", from: 20 });
  await tool.execute({ path: "memory/boats.md#L9-L3" });
  expect(memory.reads).toMatchObject([
    { relPath: "memory/boats.md", from: 3, lines: 7 },
    { relPath: "memory/boats.md", from: 3, lines: 1 },
    { relPath: "memory/boats.md", from: 20, lines: undefined },
    { relPath: "memory/boats.md#L9-L3" },
  ]);
});

test("a file that is not there is said to be not found", async () => {
  const memory = fakeMemory({
    readFile: async ({ relPath }) => ({ status: "not_found", path: relPath, text: "" }),
  });
  expect(await getTool({ memory }).execute({ path: "memory/x.md" })).toEqual({
    status: "not_found",
    path: "memory/x.md",
    text: "",
  });
});

test("a refused path gives the error shape with the code", async () => {
  const memory = fakeMemory({
    readFile: async () => Promise.reject(new MemoryError("PATH_NOT_ALLOWED", "../x.md is outside")),
  });
  expect(await getTool({ memory }).execute({ path: "../x.md" })).toEqual({
    path: "../x.md",
    text: "",
    status: "error",
    code: "PATH_NOT_ALLOWED",
    error: "../x.md is outside",
  });
});

test.each([
  [{}, "", "path"],
  [{ path: 3 }, "", "path"],
  [{ path: "a.md", from: 0 }, "a.md", "from"],
  [{ path: "a.md", lines: "many" }, "a.md", "lines"],
  [{ path: "a.md", offset: 2 }, "a.md", "offset"],
  [[], "", "arguments"],
])("bad input %j gives the error shape for %j and names %s", async (input, path, field) => {
  expect(await getTool().execute(input)).toMatchObject({
    path,
    text: "",
    status: "error",
    code: "INVALID_ARGUMENT",
    field,
  });
});

test("memory that could not be opened is an error, not an empty file", async () => {
  const broken = getTool({
    memory: undefined,
    unavailable: { error: new MemoryError("CONFIG", "bad slot") },
  });
  expect(await broken.execute({ path: "a.md" })).toMatchObject({
    status: "error",
    code: "CONFIG",
    error: "bad slot",
  });
});

test("the text is framed without its place where citations are off, and an empty one not at all", async () => {
  const output = await getTool({ citations: "off" }).execute({ path: "memory/boats.md" });
  expect(output).toMatchObject({ text: frameRecalled("note", "- The harbour code is HX-19.") });
  const memory = fakeMemory({
    readFile: async ({ relPath }) => ({ status: "ok", path: relPath, text: "", from: 9, lines: 0 }),
  });
  expect(await getTool({ memory }).execute({ path: "a.md", from: 9 })).toMatchObject({ status: "ok", text: "" });
});

test("a read that never ends is cut off, and an abort stays an abort", async () => {
  const memory = fakeMemory({ readFile: () => new Promise(() => undefined) });
  expect(await getTool({ memory, deadlineMs: 20 }).execute({ path: "a.md" })).toMatchObject({
    status: "error",
    code: "UNAVAILABLE",
    timedOut: true,
  });
  const controller = new AbortController();
  const running = getTool({ memory }).execute({ path: "a.md" }, { signal: controller.signal });
  controller.abort();
  await expect(running).rejects.toMatchObject({ name: "AbortError" });
});

test("keeps reading while the search is in its cooldown", async () => {
  const tools = createMemoryTools({
    memory: fakeMemory({ search: async () => Promise.reject(new Error("down")) }),
    citations: "off",
  });
  await tools[0]?.execute({ query: "x" });
  expect(await tools[1]?.execute({ path: "memory/boats.md" })).toMatchObject({ status: "ok" });
});

test("the schema is closed", () => {
  expect(getTool().inputSchema).toMatchObject({
    type: "object",
    additionalProperties: false,
    required: ["path"],
    properties: {
      path: { type: "string" },
      from: { type: "integer", minimum: 1 },
      lines: { type: "integer", minimum: 1 },
    },
  });
});
