import { clientFolderPatterns } from "./client-ids.ts";
import type { ConfigValues } from "./config-values.ts";

/** The configuration, read, checked, defaulted and frozen once. */
export interface MemslotConfig extends Pick<ConfigValues["memory"], "citations" | "write"> {
  /** The file it was read from; undefined if there is none. */
  readonly file: string | undefined;
  /** False for a file that was found in the current folder and that the user has not trusted (`memslot trust`). */
  readonly trusted: boolean;
  /** Absolute: `MEMSLOT_HOME`, else `~/.memslot`. */
  readonly stateDir: string;
  /** Warnings, one line each: unknown keys, and keys of an untrusted file that were ignored. */
  readonly notices: readonly string[];
  /** The agents of `agents.list`, the default one first; `main` alone if there is no list. */
  readonly agents: readonly AgentConfig[];
  /** The settings of an agent; an id that is not listed gets the defaults. Throws `INVALID_ARGUMENT` for a blank id. */
  agent(agentId: string): AgentConfig;
  readonly plugins: PluginsConfig;
  /** Keys and endpoints that providers may use: `models.providers.<id>`. */
  readonly providers: ConfigValues["models"]["providers"];
  /** A variable of the environment that the configuration was read with; undefined if it is not set or blank. */
  environment(name: string): string | undefined;
  /** Every effective value with where it came from, secrets redacted. */
  describe(): ConfigEntry[];
}

export interface AgentConfig {
  readonly id: string;
  /** Absolute; `~` and a path relative to the config file already resolved. Not checked for existence. */
  readonly workspaceDir: string;
  /** The user's time zone as an IANA name; default: the machine's. */
  readonly userTimezone: string;
  readonly memorySearch: MemorySearchSettings;
  readonly compaction: CompactionSettings;
  /** `memory.secrets`: what happens when a model writes a secret into a note. */
  readonly secrets: ConfigValues["memory"]["secrets"];
  /** `commands.ownerAllowFrom`: the peers of direct chats that are the owner, see `audienceOf`. */
  readonly ownerAllowFrom: readonly string[];
}

/** `enabled: false` disables all plugins. The paths of `load` are absolute. */
export interface PluginsConfig extends Pick<ConfigValues["plugins"], "enabled" | "load" | "deny"> {
  /** As written, or from `memory.backend`; undefined if both are absent. */
  readonly slots: {
    readonly memory: string | undefined;
    /** The older key that selected the plugin, for messages. Absent if `plugins.slots.memory` did. */
    readonly chosenBy?: "memory.backend" | undefined;
  };
  readonly entries: Readonly<Record<string, PluginEntry>>;
  /** Folder for package lookup: that of the trusted config file. Undefined: no lookup. */
  readonly resolveFrom: string | undefined;
  /** The only code that may be loaded: what the user has trusted. `undefined`: no restriction. */
  readonly trustedCode?: readonly TrustedCode[] | undefined;
}

export interface PluginEntry {
  /** `undefined` if not set. */
  readonly enabled: boolean | undefined;
  /** `builtin`, `keyword`, `none` or the id of a memory plugin, as written; `undefined` if not set. */
  readonly fallback: string | undefined;
  /** Options of the plugin. Those of `memory-qmd` override `memory.qmd`. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** One effective value of the configuration. */
export interface ConfigEntry {
  /** Dotted: `memory.citations`, `agents.list[work].workspace`. */
  key: string;
  /** Secrets are replaced by `(set)`; `undefined` if not set and without a default. */
  value: unknown;
  /** `default`, `env NAME`, `option --NAME`, a file, or words for what a program gave. */
  origin: string;
}

/** Code that a trusted configuration file names, as it was when the file was trusted. */
export interface TrustedCode {
  /** The folder of a plugin or a package, or a single file. Canonical and absolute. */
  readonly place: string;
  /** From its `package.json`; absent if that has none. */
  readonly version?: string | undefined;
  /** Hash of its content in hexadecimal. Absent for an installed plugin: its version counts. */
  readonly sha256?: string | undefined;
  /** Number of hashed files. */
  readonly files?: number | undefined;
}

type SearchValues = ConfigValues["agents"]["defaults"]["memorySearch"];

/** The effective settings of one agent, merged over the defaults. Paths are absolute; `{agentId}` is replaced. */
export interface MemorySearchSettings extends SearchValues {
  readonly clients: SearchValues["clients"] & {
    /** Folders in which the programs of `clientSources` keep their conversations. */
    readonly folders: ClientFolders;
  };
}

/** The effective `compaction` of one agent. */
export type CompactionSettings = ConfigValues["agents"]["defaults"]["compaction"];

export type ClientSource = keyof typeof clientFolderPatterns;

/** Agents whose conversations and notes can be sources of a memory, read in their own folders. */
export const clientSources: readonly ClientSource[] = Object.keys(clientFolderPatterns) as ClientSource[];

/** Absolute folders of each program; absent without a home folder. They need not exist. */
export type ClientFolders = Readonly<Partial<Record<ClientSource, readonly string[]>>>;

/** Whether a source is the conversations of another program. */
export function isClientSource(source: string): source is ClientSource {
  return (clientSources as readonly string[]).includes(source);
}

/** The program of a path such as `codex:/rollout-….jsonl`; `undefined` for every other path. */
export function clientOfPath(path: string): ClientSource | undefined {
  const name = /^(?:\.\/)?([a-z-]+):/u.exec(path)?.[1] ?? "";
  return isClientSource(name) ? name : undefined;
}

/** Whether a result is part of a conversation: its text then differs from the lines of its file. */
export function isConversation({ source, path }: { source: string; path: string }): boolean {
  if (source === "sessions" || source === "journal") return true;
  return isClientSource(source) && !path.toLowerCase().endsWith(".md");
}
