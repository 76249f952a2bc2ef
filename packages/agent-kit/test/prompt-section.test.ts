import { expect, test } from "vitest";
import { memoryPromptSection } from "@memslot/agent-kit";

const section = (tools: string[], citations: "auto" | "on" | "off" = "auto"): string =>
  memoryPromptSection({ availableTools: new Set(tools), citations }).join("\n");

test("there is none when the agent has none of the tools", () => {
  expect(memoryPromptSection({ availableTools: new Set(["web_search"]), citations: "on" })).toEqual([]);
});

test("it tells to search before answering and to ask for more results when the answer is a list", () => {
  const text = section(["memory_search", "memory_get"]);
  expect(text.startsWith("## Memory Recall\n")).toBe(true);
  expect(text).toMatch(/memory_search first/);
  expect(text).toMatch(/maxTokens 2000/);
  expect(text).toMatch(/memory_get/);
});

test("it names only the tools that are there", () => {
  expect(section(["memory_search"])).not.toContain("memory_get");
  expect(section(["memory_get"])).not.toContain("memory_search");
});

test("it asks for citations unless they are off", () => {
  expect(section(["memory_search"], "on")).toContain("path#L3-L9");
  expect(section(["memory_search"], "off")).not.toContain("path#L3-L9");
  expect(section(["memory_search"], "off")).toMatch(/Do not name file paths/);
});

test("it says what to note and how, only where notes can be written", () => {
  const text = section(["memory_search", "memory_get", "memory_append"]);
  expect(text).toMatch(/memory_append with kind "daily" for .* "longterm" only for lasting facts/);
  expect(text).toMatch(/one fact per note.*only be added.*secrets/s);
  expect(text).toMatch(/"duplicate" means/);
  expect(section(["memory_search", "memory_get"])).not.toContain("memory_append");
  expect(section(["memory_append"])).toMatch(/^## Memory\n/);
  expect(section(["memory_append"])).not.toMatch(/memory_search|memory_get/);
});
