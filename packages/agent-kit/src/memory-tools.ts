import type { Memory } from "@memslot/core";
import type { ChatType, CitationsMode } from "./citations.ts";
import { createCooldown } from "./cooldown.ts";
import { memoryGetTool } from "./memory-get-tool.ts";
import { memorySearchTool } from "./memory-search-tool.ts";
import type { MemoryTool } from "./memory-tool.ts";
import type { ToolSetting } from "./tool-setting.ts";

export interface MemoryToolsOptions {
  /** Undefined when memory is off for the agent, or when it could not be opened. */
  memory: Memory | undefined;
  /** Why memory could not be opened. Without it, no memory means that memory is off. */
  unavailable?: { error: unknown } | undefined;
  citations: CitationsMode;
  /** Decides what `citations: "auto"` means; `direct` if left out. */
  chatType?: ChatType | undefined;
  /** How long one call may take in all; 30 s if left out. */
  deadlineMs?: number | undefined;
  /** How long a failure of `memory_search` is repeated without asking again; 60 s if left out. */
  cooldownMs?: number | undefined;
  /** The clock, in milliseconds. */
  now?: (() => number) | undefined;
}

/**
 * `memory_search` and `memory_get` for one agent. A host that can choose its tools leaves both out when memory is off;
 * one with a fixed list gets tools that answer that it is off.
 */
export function createMemoryTools(options: MemoryToolsOptions): MemoryTool[] {
  const now = options.now ?? (() => performance.now());
  const setting: ToolSetting = {
    memory: options.memory,
    unavailable: options.unavailable,
    citations: options.citations,
    chatType: options.chatType ?? "direct",
    deadlineMs: options.deadlineMs ?? 30_000,
    now,
  };
  const cooldown = createCooldown({ durationMs: options.cooldownMs ?? 60_000, now });
  return [memorySearchTool(setting, cooldown), memoryGetTool(setting)];
}
