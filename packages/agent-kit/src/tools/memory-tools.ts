import {
  type AgentConfig,
  type Memory,
  MemoryError,
  type MemorySearchSettings,
  type MemslotConfig,
  audienceOf,
  createRest,
  usualDeadlines,
  visibleMessage,
  visibleName,
} from "@memslot/core";
import type { ChatType, CitationsMode } from "../citations.ts";
import { localDay } from "../edit/local-day.ts";
import type { FailureAdvice, ToolSetting } from "./tool-setting.ts";
import { guardSecrets } from "./guard-secrets.ts";
import { type AppendSetting, memoryAppendTool, memoryEditTool, memoryForgetTool } from "./memory-note-tools.ts";
import { memoryGetTool } from "./memory-get-tool.ts";
import { memorySearchTool } from "./memory-search-tool.ts";
import type { MemoryTool, MemoryToolResult } from "./memory-tool.ts";
import { createRecentRecalls } from "./recalled-text.ts";

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
  /** Where `memory_append` takes the day from; `false` leaves the tool out. */
  append?: false | AppendOptions | undefined;
  /**
   * Where `memory_edit` and `memory_forget` keep the log of what they change, and what they may change: see `editOptions`.
   * Left out or `false`: notes can only be added.
   */
  edit?: false | EditOptions | undefined;
  /** The clock of deadlines and cooldowns, in milliseconds. */
  now?: (() => number) | undefined;
}

export interface AppendOptions {
  /** The user's, as an IANA name; that of this machine if left out. */
  timeZone?: string | undefined;
  /** The date and time of day. */
  clock?: (() => Date) | undefined;
  /** What happens when a model writes a secret: `secrets` of the agent's configuration; `refuse` if left out. */
  secrets?: AgentConfig["secrets"] | undefined;
}

export interface EditOptions extends AppendOptions {
  /** Where the log of changes is kept. */
  stateDir: string;
  /** What of the workspace is memory. */
  settings: Pick<MemorySearchSettings, "extraPaths" | "notes">;
}

/**
 * The `edit` of `createMemoryTools` as the configuration wants it: `false` with `memory.write: "append"`. Where it says
 * nothing, `usual` counts.
 */
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
 * `memory_search`, `memory_get` and, unless others read along, `memory_append` for one agent, with `edit` also
 * `memory_edit` and `memory_forget`. None when memory is off.
 * Throws `INVALID_ARGUMENT` for a `sessionKey` of another agent and for an unknown time zone.
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
  const cooldown = createRest<FailureAdvice>(now);
  const recalls = createRecentRecalls();
  const { edit = false } = options;
  const change = shared || edit === false ? undefined : { ...edit, ...clockOf(edit) };
  const tools = [memorySearchTool(setting, cooldown, recalls), memoryGetTool(setting, recalls, change)];
  if (append !== undefined && !shared) tools.push(memoryAppendTool(setting, append, recalls));
  if (change !== undefined) tools.push(memoryEditTool(setting, change), memoryForgetTool(setting, change));
  const { secrets = "refuse" } = options.append || options.edit || {};
  return tools.map((tool) => withVisibleAnswers(guardSecrets(tool, secrets)));
}

/** A wrong time zone is the host's mistake, and told to it at once. */
function clockOf(given: AppendOptions): AppendSetting {
  const { timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone, clock = () => new Date() } = given;
  localDay(new Date(), timeZone);
  return { timeZone, clock };
}

/** The key that goes to memory with every call. A wrong one is the host's mistake, which no model could mend. */
function sessionOf({ memory, sessionKey, chatType }: MemoryToolsOptions): {
  sessionKey: string | undefined;
  shared: boolean;
} {
  if (sessionKey !== undefined && (typeof sessionKey !== "string" || sessionKey.trim() === ""))
    throw new MemoryError("INVALID_ARGUMENT", "sessionKey must be the key of a session, as the host names it");
  if (memory === undefined) return { sessionKey, shared: false };
  if (audienceOf(sessionKey, memory.agentId, memory.ownerAllowFrom) === "shared") return { sessionKey, shared: true };
  if (chatType !== "group") return { sessionKey, shared: false };
  // A group that the host has no key for, or that it keeps in the owner's session: others read along all the same.
  return { sessionKey: `agent:${memory.agentId}:group:unnamed`, shared: true };
}

/** Fields whose values a model hands back: they are spelled so that `nameFromVisible` finds the name again. */
const names: ReadonlySet<string> = new Set(["path", "citation"]);

/** A tool whose answers hold no character that nobody sees, wherever in them a file name or a message may stand. */
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
