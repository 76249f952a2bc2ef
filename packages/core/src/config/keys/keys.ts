import type { ConfigKey } from "./config-key.ts";
import { memorySearchKeys } from "./memory-search-keys.ts";

const defaultsKeys: readonly ConfigKey[] = [
  {
    key: "agents.defaults.workspace",
    type: "path",
    default: "{stateDir}/workspace",
    common: true,
    doc: "The folder that holds MEMORY.md, USER.md and memory/.",
  },
  {
    key: "agents.defaults.userTimezone",
    type: "timeZone",
    default: undefined,
    doc: "The user's time zone, such as `Europe/Amsterdam`: it decides which day a daily log is for. Without it, the machine's.",
  },
  ...memorySearchKeys,
  {
    key: "agents.defaults.compaction.reserveTokensFloor",
    type: "integer",
    default: 20_000,
    range: [0, 10_000_000],
    doc: "Tokens of the context window that compaction keeps free.",
  },
  {
    key: "agents.defaults.compaction.memoryFlush.enabled",
    type: "boolean",
    default: true,
    doc: "Save what would be lost before a conversation is compacted.",
  },
  {
    key: "agents.defaults.compaction.memoryFlush.softThresholdTokens",
    type: "integer",
    default: 4000,
    range: [0, 10_000_000],
    doc: "How many tokens before the compaction point the flush runs.",
  },
  {
    key: "agents.defaults.compaction.memoryFlush.forceFlushTranscriptBytes",
    type: "integer",
    default: 2_097_152,
    range: [0, 1_000_000_000_000],
    doc: "The flush also runs once a transcript has grown by so many bytes since the last compaction; 0: never for that.",
  },
  {
    key: "agents.defaults.compaction.memoryFlush.journalDays",
    type: "integer",
    default: 30,
    range: [0, 36_500],
    doc: "For how many days the journal of dropped messages waits for a model. Older ones go once an indexed transcript holds them, and no sooner.",
  },
  {
    key: "agents.defaults.compaction.memoryFlush.prompt",
    type: "string",
    default: undefined,
    doc: "The request of the flush turn, in place of the built-in one.",
  },
  {
    key: "agents.defaults.compaction.memoryFlush.systemPrompt",
    type: "string",
    default: undefined,
    doc: "The system text of the flush turn, in place of the built-in one.",
  },
];

const agentKeys: readonly ConfigKey[] = [
  {
    key: "agents.list[].id",
    type: "string",
    default: undefined,
    doc: "The agent's id: letters, digits, `_`, `-` and `.`, at most 64.",
  },
  {
    key: "agents.list[].default",
    type: "boolean",
    default: false,
    doc: "The agent that is meant where none is named. At most one.",
  },
  { key: "agents.list[].name", type: "string", default: undefined, doc: "A name for people." },
  same("agents.list[].workspace", "agents.defaults.workspace", "This agent's own workspace."),
  same("agents.list[].userTimezone", "agents.defaults.userTimezone", "This agent's own user."),
  same("agents.list[].memorySearch", "agents.defaults.memorySearch", "What this agent does otherwise, field by field."),
  same("agents.list[].compaction", "agents.defaults.compaction", "What this agent does otherwise, field by field."),
  same("agents.entries.*.default", "agents.list[].default", "Another spelling of the same key of `agents.list`."),
  same("agents.entries.*.name", "agents.list[].name", "Another spelling of the same key of `agents.list`."),
  same("agents.entries.*.workspace", "agents.defaults.workspace", "Another spelling of `agents.list[].workspace`."),
  same(
    "agents.entries.*.userTimezone",
    "agents.defaults.userTimezone",
    "Another spelling of `agents.list[].userTimezone`.",
  ),
  same(
    "agents.entries.*.memory.search",
    "agents.defaults.memorySearch",
    "Another spelling of `agents.list[].memorySearch`.",
  ),
  same("agents.entries.*.compaction", "agents.defaults.compaction", "Another spelling of `agents.list[].compaction`."),
];

const memoryKeys: readonly ConfigKey[] = [
  {
    key: "memory.backend",
    type: "choice",
    choices: ["builtin", "qmd"],
    default: "builtin",
    doc: "Older way to choose the memory plugin: `builtin` is memory-core, `qmd` is memory-qmd. `plugins.slots.memory` wins.",
  },
  {
    key: "memory.citations",
    type: "choice",
    choices: ["auto", "on", "off"],
    default: "auto",
    harmless: true,
    common: true,
    doc: "Whether results carry `path#L3-L9`: `auto` means in direct chats with the owner and on the command line.",
  },
  {
    key: "memory.write",
    type: "choice",
    choices: ["append", "edit"],
    default: undefined,
    doc: "Whether agents may change notes (`memory_edit`, `memory_forget`) or only add to them. Left out: `append` for MCP, `edit` for the demo agent.",
  },
  {
    key: "memory.qmd",
    type: "object",
    default: undefined,
    doc: "Options of memory-qmd; `plugins.entries.memory-qmd.config` is laid over them.",
  },
  same("memory.search", "agents.defaults.memorySearch", "Another spelling of `agents.defaults.memorySearch`."),
];

const commandKeys: readonly ConfigKey[] = [
  {
    key: "commands.ownerAllowFrom",
    type: "strings",
    default: [],
    doc: "Who the owner is in a chat of two: ids of peers as the channel has them, with or without the channel before them (`telegram:123456789`). A direct chat with anybody else is answered as a group is.",
  },
];

const pluginKeys: readonly ConfigKey[] = [
  {
    key: "plugins.enabled",
    type: "boolean",
    default: true,
    doc: "False switches every plugin off, and memory with it.",
  },
  {
    key: "plugins.slots.memory",
    type: "string",
    default: "memory-core",
    common: true,
    doc: "The one memory plugin in use: an id, a package name, or `none` for no memory.",
  },
  {
    key: "plugins.entries.*.enabled",
    type: "boolean",
    default: undefined,
    doc: "False keeps this plugin from being used, whatever the slot says.",
  },
  {
    key: "plugins.entries.*.config",
    type: "object",
    default: undefined,
    doc: "Options of this plugin, checked against the schema that it brings.",
  },
  {
    key: "plugins.entries.*.fallback",
    type: "string",
    default: undefined,
    doc: "What answers while this memory plugin is unavailable: `builtin` (memory-core), `keyword` (memory-core without any embedding request), the id of another memory plugin, or `none`. A plugin may have a default of its own: memory-qmd has `memory.qmd.fallback`.",
  },
  {
    key: "plugins.load.paths",
    type: "paths",
    default: [],
    doc: "Plugin folders, or folders of plugin folders.",
  },
  { key: "plugins.deny", type: "strings", default: [], doc: "Ids of plugins that are never used." },
];

const providerKeys: readonly ConfigKey[] = [
  {
    key: "models.providers.*.apiKey",
    type: "string",
    default: undefined,
    secret: true,
    doc: "The key of this embedding provider. Best written as `${NAME}`, so that it stays in the environment.",
  },
  {
    key: "models.providers.*.baseUrl",
    type: "url",
    default: undefined,
    doc: "The address of this embedding provider.",
  },
];

/** The table of keys. It drives checks, defaults, origins, redaction, trust, the reference and `memslot init`. */
export const configKeys: readonly ConfigKey[] = [
  ...defaultsKeys,
  ...agentKeys,
  ...memoryKeys,
  ...commandKeys,
  ...pluginKeys,
  ...providerKeys,
];

function same(key: string, target: string, doc: string): ConfigKey {
  return { key, type: "same", same: target, default: undefined, doc };
}
