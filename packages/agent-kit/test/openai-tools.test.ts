import { describe, expect, test } from "vitest";
import { type MemoryTool, createMemoryTools, runToolCall, toOpenAiTools } from "@memslot/agent-kit";
import { fakeMemory } from "./support/fake-memory.ts";

const tools = createMemoryTools({ memory: fakeMemory(), citations: "auto" });

test("tools take the chat-completions form", () => {
  const [search, get] = toOpenAiTools(tools);
  expect(search).toMatchObject({
    type: "function",
    function: {
      name: "memory_search",
      description: expect.any(String),
      parameters: { type: "object", required: ["query"], additionalProperties: false },
    },
  });
  expect(get).toMatchObject({ type: "function", function: { name: "memory_get" } });
});

test("a host may change the schema that it got", () => {
  const queryOf = (): unknown => {
    const properties = toOpenAiTools(tools)[0]?.function.parameters["properties"];
    return typeof properties === "object" && properties !== null && "query" in properties
      ? properties.query
      : undefined;
  };
  const before = structuredClone(queryOf());
  Object.assign(queryOf() as object, { type: "changed" });
  expect(queryOf()).toEqual(before);
});

describe("a tool call", () => {
  test("runs with its JSON arguments", async () => {
    expect(await runToolCall(tools, { name: "memory_search", arguments: '{"query":"harbour"}' })).toMatchObject({
      state: "ok",
    });
  });

  test("with arguments that are no JSON comes back as an error for the model", async () => {
    const output = await runToolCall(tools, { name: "memory_search", arguments: '{"query": "har' });
    expect(output).toMatchObject({
      status: "error",
      field: "arguments",
      error: expect.stringContaining("not valid JSON"),
    });
  });

  test("without arguments is told what is missing", async () => {
    expect(await runToolCall(tools, { name: "memory_get", arguments: "" })).toMatchObject({
      field: "path",
    });
  });

  test("of a tool that does not exist lists those that do", async () => {
    expect(await runToolCall(tools, { name: "memory_write", arguments: "{}" })).toMatchObject({
      status: "error",
      error: expect.stringMatching(/memory_write.*memory_search, memory_get/),
    });
  });

  test("whose tool throws comes back as an error, an abort does not", async () => {
    const throwing = (error: Error): MemoryTool[] => [
      {
        name: "t",
        description: "",
        inputSchema: { type: "object", properties: {}, required: [], additionalProperties: false },
        execute: async () => {
          throw error;
        },
      },
    ];
    expect(await runToolCall(throwing(new Error("broken")), { name: "t", arguments: "{}" })).toMatchObject({
      status: "error",
      error: "broken",
    });
    await expect(
      runToolCall(throwing(new DOMException("stop", "AbortError")), { name: "t", arguments: "{}" }),
    ).rejects.toMatchObject({ name: "AbortError" });
  });
});
