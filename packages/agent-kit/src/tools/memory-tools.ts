import {
  type AgentConfig,
  type Memory,
  MemoryError,
  type MemorySearchSettings,
  type MemslotConfig,
  audienceOf,
  usualDeadlines,
  visibleMessage,
  visibleName,
} from "@memslot/core";
import { createCooldown } from "@memslot/core/host";
import type { ChatType, CitationsMode } from "../citations.ts";
import { localDay } from "../edit/local-day.ts";
import type { FailureAdvice, ToolSetting } from "./tool-failures.ts";
import { guardSecrets } from "./guard-secrets.ts";
import { type AppendSetting, memoryAppendTool, memoryEditTool, memoryForgetTool } from "./memory-note-tools.ts";
import { memoryGetTool } from "./memory-get-tool.ts";
import { memorySearchTool } from "./memory-search-tool.ts";
import type { MemoryTool, MemoryToolResult } from "./tool-types.ts";
import { RecentRecalls } from "./recalled-text.ts";

export interface MemoryToolsOptions {
  /** Undefined if memory is off for the agent, or could not be opened. */
  memory: Memory | undefined;
  unavailable?: { error: unknown } | undefined;
  citations: CitationsMode;
  /** The key of the session (`agent:main:telegram:group:-100`). A group gets no private notes. Left out: the owner. */
  sessionKey?: string | undefined;
  /** For `citations: "auto"`; by `sessionKey` if left out. With `group` private notes are excluded whatever the key is. */
  chatType?: ChatType | undefined;
  /** Deadline of one call; 30 s if left out. */
  deadlineMs?: number | undefined;
  /** How long a failed `memory_search` is not tried again; 60 s if left out. */
  cooldownMs?: number | undefined;
  /** `false` leaves `memory_append` out. */
  append?: false | AppendOptions | undefined;
  edit?: false | EditOptions | undefined;
  /** The clock of deadlines and cooldowns, in milliseconds. */
  now?: (() => number) | undefined;
}

export interface AppendOptions {
  /** The user's, as an IANA name; that of this machine if left out. */
  timeZone?: string | undefined;
  clock?: (() => Date) | undefined;
  /** `secrets` of the agent's configuration; `refuse` if left out. */
  secrets?: AgentConfig["secrets"] | undefined;
}

export interface EditOptions extends AppendOptions {
  stateDir: string;
  settings: Pick<MemorySearchSettings, "extraPaths" | "notes">;
}

export function editOptions(
  config: Pick<MemslotConfig, "agent" | "stateDir" | "write">,
  agentId: string,
  usual: "append" | "edit" = "edit",
): false | EditOptions {
  if ((config.write ?? usual) === "append") return false;
  const { memorySearch, userTimezone, secrets } = config.agent(agentId);
  return { stateDir: config.stateDir, settings: memorySearch, timeZone: userTimezone, secrets };
}

/**
 * Creates the memory tools of one agent; none if memory is off. Throws `INVALID_ARGUMENT` for a `sessionKey` of another
 * agent and an unknown time zone.
 */
export function createMemoryTools(options: MemoryToolsOptions): MemoryTool[] {
  const now = options.now ?? (() => performance.now());
  const append = options.append === false ? undefined : clockOf(options.append ?? {});
  const { sessionKey, shared } = sessionOf(options);
  const opened = options.unavailable ?? (options.memory && { memory: options.memory });
  if (opened === undefined) return [];
  const setting: ToolSetting = {
    opened,
    citations: options.citations,
    chatType: options.chatType ?? (shared ? "group" : "direct"),
    sessionKey,
    shared,
    deadlineMs: options.deadlineMs ?? usualDeadlines.searchMs,
    cooldownMs: options.cooldownMs ?? 60_000,
    now,
  };
  const cooldown = createCooldown<FailureAdvice>(now);
  const recalls = new RecentRecalls();
  const { edit = false } = options;
  const change = shared || edit === false ? undefined : { ...edit, ...clockOf(edit) };
  const tools = [memorySearchTool(setting, cooldown, recalls), memoryGetTool(setting, recalls, change)];
  if (append !== undefined && !shared) tools.push(memoryAppendTool(setting, append, recalls));
  if (change !== undefined) tools.push(memoryEditTool(setting, change), memoryForgetTool(setting, change));
  const { secrets = "refuse" } = options.append || options.edit || {};
  return tools.map((tool) => withVisibleAnswers(guardSecrets(tool, secrets)));
}

function clockOf(given: AppendOptions): AppendSetting {
  const { timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone, clock = () => new Date() } = given;
  localDay(new Date(), timeZone);
  return { timeZone, clock };
}

/** The key for every call of memory. Throws for a wrong one, which no model could correct. */
function sessionOf({ memory, sessionKey, chatType }: MemoryToolsOptions): {
  sessionKey: string | undefined;
  shared: boolean;
} {
  if (sessionKey !== undefined && (typeof sessionKey !== "string" || sessionKey.trim() === ""))
    throw new MemoryError("INVALID_ARGUMENT", "sessionKey must be the key of a session, as the host names it");
  if (memory === undefined) return { sessionKey, shared: false };
  if (audienceOf(sessionKey, memory.agentId, memory.ownerAllowFrom) === "shared") return { sessionKey, shared: true };
  if (chatType !== "group") return { sessionKey, shared: false };
  // A group without a key, or in the owner's session.
  return { sessionKey: `agent:${memory.agentId}:group:unnamed`, shared: true };
}

const names: ReadonlySet<string> = new Set(["path", "citation"]);

/** Makes invisible characters in the answers of a tool visible. */
function withVisibleAnswers(tool: MemoryTool): MemoryTool {
  return {
    ...tool,
    execute: async (input, options) => visible(await tool.execute(input, options)) as MemoryToolResult,
  };
}

function visible(value: unknown, name = ""): unknown {
  if (typeof value === "string") return names.has(name) ? visibleName(value) : visibleMessage(value);
  if (Array.isArray(value)) return value.map((item) => visible(item, name));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, visible(item, key)]));
}
