import agentRows from "./agent-keys.json" with { type: "json" };
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
  ...(agentRows.compaction as ConfigKey[]),
];

const agentKeys: readonly ConfigKey[] = [
  ...(agentRows.agents as ConfigKey[]),
  ...agentRows.same.map(([key = "", of = "", doc = ""]) => same(key, of, doc)),
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
    key: "memory.secrets",
    type: "choice",
    choices: ["refuse", "mask", "keep"],
    default: "refuse",
    doc: "What happens when a model writes a key or a password into a note. `refuse`: the tool refuses what is certainly one and masks the rest. `mask`: a mark takes its place. `keep`: it is written.",
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
