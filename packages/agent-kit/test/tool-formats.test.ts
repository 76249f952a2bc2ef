import { describe, expect, test } from "vitest";
import {
  type MemoryTool,
  type ToolInputSchema,
  createMemoryTools,
  memoryPromptSection,
  runToolCall,
  toMcpResult,
  toMcpTools,
  toOpenAiTools,
} from "@memslot/agent-kit";
import schemas from "./data/tool-schemas.json" with { type: "json" };
import data from "./data/answers.json" with { type: "json" };
import { fakeMemory, withPatterns } from "./support/fake-memory.ts";

const tools = createMemoryTools({ memory: fakeMemory(), citations: "auto" });
const inputSchema: ToolInputSchema = { type: "object", properties: {}, required: [], additionalProperties: false };
const toolThat = (execute: MemoryTool["execute"], name = "t"): MemoryTool => ({
  name,
  description: "d",
  inputSchema,
  execute,
});

describe("the form of chat completions", () => {
  test("has names, descriptions and parameters", () => {
    const form = tools.map(({ name, description, inputSchema: parameters }) => ({ name, description, parameters }));
    expect(toOpenAiTools(tools)).toEqual(form.map((made) => ({ type: "function", function: made })));
  });

  const throwing = (error: Error) => async (): Promise<never> => {
    throw error;
  };
  const failing = (error: Error): MemoryTool[] => [toolThat(throwing(error))];

  test.each<[string, readonly MemoryTool[], string, string, object]>([
    ...(data.calls as [string, string, string, object][]).map(
      ([what, name, given, expected]): [string, readonly MemoryTool[], string, string, object] => [
        what,
        tools,
        name,
        given,
        withPatterns(expected),
      ],
    ),
    ["whose tool throws is an error", failing(new Error("broken")), "t", "{}", { status: "error", error: "broken" }],
  ])("a call %s", async (_, offered, name, given, expected) => {
    expect(await runToolCall(offered, { name, arguments: given })).toMatchObject(expected);
  });

  test("an abort of a tool stays an abort", async () => {
    const aborted = failing(new DOMException("stop", "AbortError"));
    await expect(runToolCall(aborted, { name: "t", arguments: "{}" })).rejects.toMatchObject({ name: "AbortError" });
  });
});

test("the schemas are closed, have no other fields, and describe the filters of a search", () => {
  for (const { name, inputSchema: schema } of tools) {
    const expected = schemas[name as keyof typeof schemas];
    expect(schema).toMatchObject(expected);
    if (name !== "memory_search") expect(Object.keys(schema.properties)).toEqual(Object.keys(expected.properties));
  }
  const description = tools[0]?.inputSchema.properties["query"]?.["description"];
  for (const filter of ['"exact phrase"', "-word", "path:", "tag:", "source:", "after:", "before:"])
    expect(description).toContain(filter);
});

test("a host may change the schemas that it got", () => {
  const forms = [
    () => toMcpTools(tools)[0]?.inputSchema["properties"],
    () => toOpenAiTools(tools)[0]?.function.parameters["properties"],
  ];
  for (const properties of forms) {
    const before = structuredClone(properties());
    Object.assign(properties() as object, { query: "changed" });
    expect(properties()).toEqual(before);
  }
});

describe("the form of MCP", () => {
  test("has what a client needs to decide whether to ask its user", () => {
    const listed = toMcpTools(tools);
    expect(listed.map(({ name }) => name)).toEqual(["memory_search", "memory_get", "memory_append"]);
    expect(listed.map(({ annotations }) => annotations?.readOnlyHint)).toEqual([true, true, false]);
    expect(listed.at(-1)?.annotations).toEqual(data.annotations);
    for (const [index, { title, description, inputSchema: schema }] of listed.entries()) {
      expect(title).toBeTruthy();
      expect([description, schema]).toEqual([tools[index]?.description, tools[index]?.inputSchema]);
    }
    const own = toolThat(async () => ({}), "constructor");
    expect(toMcpTools([own])).toEqual([{ name: "constructor", description: "d", inputSchema }]);
  });

  test("carries an answer as object and as the same text; only what the tool could not do is an error", () => {
    const result = toMcpResult({ results: [], state: "ok", model: undefined });
    expect(result).toEqual({
      content: [{ type: "text", text: '{"results":[],"state":"ok"}' }],
      structuredContent: { results: [], state: "ok" },
    });
    expect(Object.keys(result.structuredContent)).toEqual(["results", "state"]);
    expect(toMcpResult({ status: "error", error: "query is missing" }).isError).toBe(true);
    expect(toMcpResult({ results: [], unavailable: true, disabled: true }).isError).toBe(true);
    expect(toMcpResult({ status: "not_found", text: "", path: "MEMORY.md" })).not.toHaveProperty("isError");
    expect(toMcpResult({ results: [], disabled: true })).not.toHaveProperty("isError");
  });

  interface ObjectSchema {
    properties: Record<string, { type: string; items?: ObjectSchema }>;
    required: string[];
  }

  /** Checks an answer and the objects in its lists. */
  function expectFits(answer: object, { properties, required }: ObjectSchema): void {
    expect(Object.keys(answer)).toEqual(expect.arrayContaining(required));
    for (const [field, value] of Object.entries(answer)) {
      const type = properties[field]?.type.replace("integer", "number");
      expect({ field, type: Array.isArray(value) ? "array" : typeof value }).toEqual({ field, type });
      const items = properties[field]?.items;
      if (Array.isArray(value) && items?.properties) for (const item of value) expectFits(item as object, items);
    }
  }

  test.each(data.refusedCalls as [string, object][])("%s with %j keeps to its outputSchema", async (name, input) => {
    const { outputSchema } = toMcpTools(tools).find((tool) => tool.name === name) ?? {};
    if (name === "memory_search") expect(outputSchema).toHaveProperty("properties.results.items.properties.path");
    const unopened = createMemoryTools({
      memory: undefined,
      unavailable: { error: new Error("no") },
      citations: "auto",
    });
    for (const offered of [tools, unopened]) {
      const answer = toMcpResult((await offered.find((tool) => tool.name === name)?.execute(input)) ?? {});
      expectFits(answer.structuredContent, outputSchema as unknown as ObjectSchema);
    }
  });
});

describe("the section of the system prompt", () => {
  const section = (available: string[], citations: "auto" | "on" | "off" = "auto"): string =>
    memoryPromptSection({ availableTools: new Set(available), citations }).join("\n");

  test("says to search before answering, how to cite, and names only the tools that there are", () => {
    expect(section(["web_search"], "on")).toBe("");
    const text = section(["memory_search", "memory_get"]);
    expect(text).toMatch(/^## Memory Recall\n.*memory_search first.*maxTokens 2000/s);
    expect(text).toContain("memory_get");
    expect(text).not.toContain("memory_append");
    expect(section(["memory_search"])).not.toContain("memory_get");
    expect(section(["memory_get"])).not.toContain("memory_search");
    expect(section(["memory_search"], "on")).toContain("path#L3-L9");
    expect(section(["memory_search"], "off")).not.toContain("path#L3-L9");
    expect(section(["memory_search"], "off")).toMatch(/Do not name file paths/);
  });

  test("says what to note and how, only if notes can be written", () => {
    const text = section(["memory_search", "memory_get", "memory_append"]);
    expect(text).toMatch(/memory_append with kind "daily" for .* "longterm" only for lasting facts/);
    expect(text).toMatch(/one fact per note.*only be added.*secrets/s);
    expect(text).toMatch(/"duplicate" means/);
    expect(section(["memory_append"])).toMatch(/^## Memory\n/);
    expect(section(["memory_append"])).not.toMatch(/memory_search|memory_get/);
  });
});
