import { expect, test } from "vitest";
import { memoryPromptSection } from "../src/index.ts";

const section = (tools: string[], citations: "auto" | "on" | "off" = "auto"): string =>
  memoryPromptSection({ availableTools: new Set(tools), citations }).join("\n");

test("there is none when the agent has neither tool", () => {
  expect(memoryPromptSection({ availableTools: new Set(["web_search"]), citations: "on" })).toEqual([]);
});

test("it tells to search before answering and to ask for more results when the answer is a list", () => {
  const text = section(["memory_search", "memory_get"]);
  expect(text.startsWith("## Memory Recall\n")).toBe(true);
  expect(text).toMatch(/memory_search first/);
  expect(text).toMatch(/10 to 12 results/);
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
