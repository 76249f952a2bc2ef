import { type Memory, MemoryError, audienceOf } from "@memslot/core";
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
  /**
   * The session that asks, as the host names it (`agent:main:telegram:group:-100`): what a model writes never decides
   * whose notes it sees. In a group private notes are left out. Left out: the owner, at a terminal.
   */
  sessionKey?: string | undefined;
  /**
   * Decides what `citations: "auto"` means; by `sessionKey` if left out, `direct` where there is none. With `group`
   * private notes are left out, whatever the key is.
   */
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
 * one with a fixed list gets tools that answer that it is off. Throws `INVALID_ARGUMENT` for a `sessionKey` of another
 * agent.
 */
export function createMemoryTools(options: MemoryToolsOptions): MemoryTool[] {
  const now = options.now ?? (() => performance.now());
  const { sessionKey, shared } = sessionOf(options);
  const setting: ToolSetting = {
    memory: options.memory,
    unavailable: options.unavailable,
    citations: options.citations,
    chatType: options.chatType ?? (shared ? "group" : "direct"),
    sessionKey,
    shared,
    deadlineMs: options.deadlineMs ?? 30_000,
    now,
  };
  const cooldown = createCooldown({ durationMs: options.cooldownMs ?? 60_000, now });
  return [memorySearchTool(setting, cooldown), memoryGetTool(setting)];
}

/** The key that goes to memory with every call. A wrong one is the host's mistake, which no model could mend. */
function sessionOf({ memory, sessionKey, chatType }: MemoryToolsOptions): {
  sessionKey: string | undefined;
  shared: boolean;
} {
  if (sessionKey !== undefined && (typeof sessionKey !== "string" || sessionKey.trim() === ""))
    throw new MemoryError("INVALID_ARGUMENT", "sessionKey must be the key of a session, as the host names it");
  if (memory === undefined) return { sessionKey, shared: false };
  if (audienceOf(sessionKey, memory.agentId) === "shared") return { sessionKey, shared: true };
  if (chatType !== "group") return { sessionKey, shared: false };
  // A group that the host has no key for, or that it keeps in the owner's session: others read along all the same.
  return { sessionKey: `agent:${memory.agentId}:group:unnamed`, shared: true };
}
