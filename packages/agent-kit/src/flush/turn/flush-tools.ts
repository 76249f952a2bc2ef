import { type Memory, usualDeadlines } from "@memslot/core";
import { memoryAppendTool } from "../../tools/memory-append-tool.ts";
import type { MemoryTool } from "../../tools/memory-tool.ts";
import { createMemoryTools } from "../../tools/memory-tools.ts";
import { createRecentRecalls } from "../../tools/recent-recalls.ts";

/** Everything that a model may do in a flush turn. */
const allowed: ReadonlySet<string> = new Set(["memory_append", "memory_search"]);

/**
 * The tools of one flush turn: `memory_append`, which dates every entry with the time of the messages, and
 * `memory_search`. Where memory is not open, notes can be added all the same: they are files.
 */
export function flushTools(options: {
  memory: Memory | undefined;
  workspaceDir: string;
  sessionKey: string;
  timeZone: string;
  at: Date;
}): MemoryTool[] {
  const { memory, workspaceDir, sessionKey, timeZone, at } = options;
  const append = { timeZone, clock: () => at };
  if (memory === undefined) {
    const target = { opened: { memory: { workspaceDir } }, deadlineMs: usualDeadlines.searchMs };
    return [memoryAppendTool(target, append, createRecentRecalls())];
  }
  const tools = createMemoryTools({ memory, citations: "auto", sessionKey, append });
  return tools
    .filter(({ name }) => allowed.has(name))
    .map((tool) => (tool.name === "memory_search" ? ofNotes(tool) : tool));
}

/** The search of notes alone: journal and transcripts hold the very messages that are to become notes. */
function ofNotes(tool: MemoryTool): MemoryTool {
  return {
    ...tool,
    execute: async (input, options) => {
      const isObject = typeof input === "object" && input !== null && !Array.isArray(input);
      return await tool.execute(isObject ? { ...input, corpus: "memory" } : input, options);
    },
  };
}
