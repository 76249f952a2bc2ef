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
  /** The agents of `agents.list`, the default one first; `main` alone where there is no list. */
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
  /** The user's time zone as an IANA name; the machine's where none is configured. */
  readonly userTimezone: string;
  readonly memorySearch: MemorySearchSettings;
  readonly compaction: CompactionSettings;
  /** `memory.secrets`: what happens when a model writes a secret into a note. */
  readonly secrets: ConfigValues["memory"]["secrets"];
  /** `commands.ownerAllowFrom`: the peers of direct chats that are the owner, see `audienceOf`. */
  readonly ownerAllowFrom: readonly string[];
}

/** `enabled` is false: no plugin is used at all. The paths of `load` are absolute. */
export interface PluginsConfig extends Pick<ConfigValues["plugins"], "enabled" | "load" | "deny"> {
  /** As written, or from `memory.backend`; undefined if both are absent. */
  readonly slots: {
    readonly memory: string | undefined;
    /** The older key that chose it, where that is so: for messages. */
    readonly chosenBy?: "memory.backend" | undefined;
  };
  readonly entries: Readonly<Record<string, PluginEntry>>;
  /** Folder for package lookup: that of the trusted config file. Undefined: no lookup. */
  readonly resolveFrom: string | undefined;
  /** The code that the user has vouched for: no other is loaded. Undefined: whatever the configuration names. */
  readonly trustedCode?: readonly TrustedCode[] | undefined;
}

export interface PluginEntry {
  readonly enabled: boolean | undefined;
  /** `builtin`, `keyword`, `none` or the id of a memory plugin, as written; undefined if it is not. */
  readonly fallback: string | undefined;
  /** For `memory-qmd` laid over `memory.qmd`. */
  readonly config: Readonly<Record<string, unknown>>;
}

export interface ConfigEntry {
  key: string;
  value: unknown;
  /** `default`, `env NAME`, `option --NAME`, a file, or words for what a program gave. */
  origin: string;
}

/** Code that a trusted configuration file brings in, as it was when the file was trusted. */
export interface TrustedCode {
  /** The folder of a plugin or a package, or a single file. Canonical and absolute. */
  readonly place: string;
  /** Of its package.json, where that has one. */
  readonly version?: string | undefined;
  /** Hash of its content, see `hashCode`. Undefined for installed plugins: the version counts. */
  readonly sha256?: string | undefined;
  readonly files?: number | undefined;
}

type SearchValues = ConfigValues["agents"]["defaults"]["memorySearch"];

/** The effective settings of one agent, merged over the defaults. Paths are absolute; `{agentId}` is replaced. */
export interface MemorySearchSettings extends SearchValues {
  readonly clients: SearchValues["clients"] & {
    /** Where the programs of `clientSources` keep their conversations. */
    readonly folders: ClientFolders;
  };
}

/** The effective `compaction` of one agent. */
export type CompactionSettings = ConfigValues["agents"]["defaults"]["compaction"];

export type ClientSource = keyof typeof clientFolderPatterns;

/** Agents whose conversations and notes can be sources of a memory, read in their own folders. */
export const clientSources: readonly ClientSource[] = Object.keys(clientFolderPatterns) as ClientSource[];

/** The folders of each of them; absent if this system has none. */
export type ClientFolders = Readonly<Partial<Record<ClientSource, readonly string[]>>>;

export function isClientSource(source: string): source is ClientSource {
  return (clientSources as readonly string[]).includes(source);
}

/** The program that a path is of, `codex:/rollout-….jsonl`; undefined for every other path. */
export function clientOfPath(path: string): ClientSource | undefined {
  const name = /^(?:\.\/)?([a-z-]+):/u.exec(path)?.[1] ?? "";
  return isClientSource(name) ? name : undefined;
}

/** Whether what is found there was said in a conversation: its text is not made of the lines of a file. */
export function isConversation({ source, path }: { source: string; path: string }): boolean {
  if (source === "sessions" || source === "journal") return true;
  return isClientSource(source) && !path.toLowerCase().endsWith(".md");
}
