import { visibleMessage, visibleName } from "@memslot/core";
import type { MemoryTool } from "../tools/memory-tool.ts";

/** Fields whose values a model hands back: they are spelled so that `nameFromVisible` finds the name again. */
const names: ReadonlySet<string> = new Set(["path", "citation"]);

/** A tool whose answers hold no character that nobody sees, wherever in them a file name or a message may stand. */
export function withVisibleAnswers(tool: MemoryTool): MemoryTool {
  return { ...tool, execute: async (input, options) => visible(await tool.execute(input, options)) as object };
}

function visible(value: unknown, name = ""): unknown {
  if (typeof value === "string") return names.has(name) ? visibleName(value) : visibleMessage(value);
  if (Array.isArray(value)) return value.map((item) => visible(item, name));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, visible(item, key)]));
}
