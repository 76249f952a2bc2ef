import { expect, test } from "vitest";
import { type MemoryTool, createMemoryTools, toMcpResult, toMcpTools } from "@memslot/agent-kit";
import { fakeMemory } from "./support/fake-memory.ts";

const tools = createMemoryTools({ memory: fakeMemory(), citations: "auto" });

test("tools take the form of MCP, with what a client needs to decide whether to ask its user", () => {
  const listed = toMcpTools(tools);
  expect(listed.map(({ name }) => name)).toEqual(["memory_search", "memory_get", "memory_append"]);
  expect(listed.map(({ annotations }) => annotations?.readOnlyHint)).toEqual([true, true, false]);
  expect(listed.at(-1)?.annotations).toEqual({
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  });
  for (const [index, { title, description, inputSchema }] of listed.entries()) {
    expect(title).toBeTruthy();
    expect(description).toBe(tools[index]?.description);
    expect(inputSchema).toEqual(tools[index]?.inputSchema);
  }
});

test("a host may change the schema that it got", () => {
  const [first] = toMcpTools(tools);
  const before = structuredClone(first?.inputSchema);
  Object.assign(first?.inputSchema["properties"] as object, { query: "changed" });
  expect(toMcpTools(tools)[0]?.inputSchema).toEqual(before);
});

test("a tool that is none of memory's own is listed as it is, whatever its name", () => {
  const inputSchema = { type: "object", properties: {}, required: [], additionalProperties: false } as const;
  const own: MemoryTool = { name: "constructor", description: "d", inputSchema, execute: async () => ({}) };
  expect(toMcpTools([own])).toEqual([{ name: "constructor", description: "d", inputSchema }]);
});

test("an answer is carried as object and as text, which are the same", () => {
  const result = toMcpResult({ results: [], state: "ok", model: undefined });
  expect(result).toEqual({
    content: [{ type: "text", text: '{"results":[],"state":"ok"}' }],
    structuredContent: { results: [], state: "ok" },
  });
  expect(Object.keys(result.structuredContent)).toEqual(["results", "state"]);
});

test("only what the tool could not do is an error", () => {
  expect(toMcpResult({ status: "error", error: "query is missing" }).isError).toBe(true);
  expect(toMcpResult({ results: [], unavailable: true, disabled: true }).isError).toBe(true);
  expect(toMcpResult({ status: "not_found", text: "", path: "MEMORY.md" })).not.toHaveProperty("isError");
  expect(toMcpResult({ results: [], disabled: true })).not.toHaveProperty("isError");
});

/** Answers of every kind, with the promise of `outputSchema` that each has to keep. */
test.each([
  ["memory_search", { query: "harbour" }],
  ["memory_search", {}],
  ["memory_get", { path: "MEMORY.md" }],
  ["memory_get", {}],
  ["memory_append", {}],
])("%s with %j keeps to its outputSchema", async (name, input) => {
  const { outputSchema } = toMcpTools(tools).find((tool) => tool.name === name) ?? {};
  const unopened = createMemoryTools({ memory: undefined, unavailable: { error: new Error("no") }, citations: "auto" });
  for (const offered of [tools, unopened]) {
    const answer = toMcpResult((await offered.find((tool) => tool.name === name)?.execute(input)) ?? {});
    const properties = outputSchema?.["properties"] as Record<string, { type: string }>;
    expect(Object.keys(answer.structuredContent)).toEqual(
      expect.arrayContaining(outputSchema?.["required"] as string[]),
    );
    for (const [field, value] of Object.entries(answer.structuredContent)) {
      const type = properties[field]?.type.replace("integer", "number");
      expect({ field, type: Array.isArray(value) ? "array" : typeof value }).toEqual({ field, type });
    }
  }
});

interface SearchTool {
  outputSchema: {
    properties: { results: { items: { properties: Record<string, { type: string }>; required: string[] } } };
  };
}

test("the outputSchema of memory_search names the fields of a result", async () => {
  const listed = toMcpTools(tools).find(({ name }) => name === "memory_search");
  expect(listed?.outputSchema).toMatchObject({ properties: { results: { type: "array" } } });
  const { properties, required } = (listed as unknown as SearchTool).outputSchema.properties.results.items;
  const found = toMcpResult((await tools[0]?.execute({ query: "harbour" })) ?? {}).structuredContent["results"];
  expect(found).not.toEqual([]);
  for (const result of found as Record<string, unknown>[]) {
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(result)));
    expect(Object.keys(result)).toEqual(expect.arrayContaining(required));
    for (const [field, value] of Object.entries(result))
      expect({ field, type: properties[field]?.type.replace("integer", "number") }).toEqual({
        field,
        type: typeof value,
      });
  }
});
