import type { Finder } from "../sources/conversation-finder.ts";
import { type JsonObject, textAt } from "../json-values.ts";
import {
  absoluteFolder,
  readJson,
  type RecordReader,
  saidRecord,
  textOf,
  timeOf,
  type TranscriptRecord,
} from "../sources/transcript-lines.ts";

/** `user`: for every project of this user. `project`: for the current folder. */
export type ConnectScope = "user" | "project";

/** What `memslot connect` writes into the files of an agent. */
export interface Connection {
  /** Starts the MCP server: a program and its arguments, all absolute. */
  readonly server: { readonly command: string; readonly args: readonly string[]; readonly env: Record<string, string> };
  /** Environment variables with the API keys that the configuration needs. Agents pass on no other key. */
  readonly keys: readonly string[];
  /** The shell command of the hook; undefined with `--no-hooks`. */
  readonly hook: string | undefined;
  readonly instructions: readonly string[];
}

/** A file that `memslot connect` edits: server in JSON or TOML, hooks in JSON, Markdown lines, or its own file. */
export interface AgentFile {
  readonly what: "server" | "hooks" | "instructions";
  /** Its path for all projects (`patternPath`): the first that exists, else the last. */
  readonly user?: string | readonly string[];
  /** Its path in a project. */
  readonly project?: string | readonly string[];
  /** The file is edited only if this path exists. */
  readonly ifExists?: string;
  /** The name of the object or the TOML table with the MCP servers. */
  readonly group?: string;
  readonly entry?: (connection: Connection) => object;
  /** Without `entry`: fields of the server's entry before and after command, arguments and environment. */
  readonly before?: object;
  readonly after?: object;
  readonly handler?: (command: string, event: string, platform: string) => object;
  /** The `version` that a file of hooks needs. */
  readonly version?: number;
  /** What the agent puts before the names of our tools, for the instructions. */
  readonly toolPrefix?: string;
  /** More lines of instructions for this agent. */
  readonly lines?: readonly string[];
  /** The whole text of a file of its own, which `mark` identifies. */
  readonly text?: (connection: Connection) => string;
  readonly mark?: string;
}

export type HookMoment = "start" | "prompt" | "compact" | "turn-end" | "end";

/** How an agent runs hooks. */
interface AgentHooks {
  /** Its events by name. */
  readonly events: Readonly<Record<string, HookMoment>>;
  /** The moments at which the agent passes text to its model, with the JSON that it expects. */
  readonly answers: Readonly<Partial<Record<HookMoment, (event: string, text: string) => object>>>;
  readonly stored?: object;
  /** A resumed session lacks the notes of the start. */
  readonly resumesWithoutStart?: boolean;
  /** Fields that only one event has, for an agent that does not send the name of the event. The first one counts. */
  readonly fields?: Readonly<Record<string, string>>;
  /** The shell that runs commands on Windows, if it needs `&` before a quoted program. */
  readonly shell?: "powershell";
  /** Whether this agent sent an event to the hook of `given`, another agent. */
  readonly isSender?: (input: JsonObject, given: string) => boolean;
}

export interface SaidLine {
  readonly role: "user" | "assistant";
  readonly text: string;
  readonly id?: string | undefined;
  readonly at?: string | undefined;
}

/** Where an agent keeps its conversations, and how they are read. */
export interface Conversations {
  readonly folders: readonly string[];
  /** For the documentation: the conversations and the notes in these folders. */
  readonly layout: readonly [conversations: string, notes: string];
  /** The message in a line of a transcript; undefined for tools, settings and summaries. Absent: it writes no lines. */
  readonly said?: (line: JsonObject) => SaidLine | undefined;
  /** The working folder of the agent, if the line names it. */
  readonly folderOf?: (line: JsonObject) => unknown;
  /** The compaction that a line records, if the agent reports it nowhere else: an id, and how many messages it kept. */
  readonly compactionIn?: (line: JsonObject) => { readonly id: string; readonly kept: number } | undefined;
  /** Finds the conversations and notes in one of the folders. Changes nothing there. */
  readonly find: (finder: Finder, folder: string) => Promise<void>;
}

/** The files of a connection, as `memslot doctor` reads them. A file that is missing or damaged is empty. */
export interface ConnectedFiles {
  readonly home: string;
  readonly projectDir: string | undefined;
  /** Environment variables with the API keys that the configuration needs. */
  readonly keys: readonly string[];
  /** The path of the connected file whose name matches. */
  readonly file: (name: RegExp) => string | undefined;
  readonly json: (file: string | undefined) => JsonObject;
  readonly toml: (file: string | undefined) => JsonObject;
}

/** A setting that an agent ignores silently, and how the user corrects it. */
export interface SilentSkip {
  readonly message: string;
  readonly next: string;
}

export interface Agent {
  readonly id: string;
  readonly name: string;
  /** Files and folders of an installation, in the form of `patternPath`. */
  readonly signs: readonly string[];
  readonly programs: readonly string[];
  readonly files: readonly AgentFile[];
  /** What the user has to do or to know after connecting; `hooks` and `project` only if the connection has them. */
  readonly notes?: Readonly<Partial<Record<"always" | "hooks" | "project", string>>>;
  readonly about?: string;
  readonly hooks?: AgentHooks;
  /** For the documentation: the variables of its environment that reach the server and the hooks. `shell` marks its shells. */
  readonly environment?: Readonly<Record<"server" | "hooks" | "shell", string>>;
  readonly conversations?: Conversations;
  readonly silentSkips?: (files: ConnectedFiles) => readonly SilentSkip[];
}

/** A group with one command, in the format of Claude Code. */
export function hookGroup(command: string, timeout: number, more: object = {}): object {
  return { hooks: [{ ...more, type: "command", command, timeout }] };
}

/** The answer of Claude Code and of agents that took over its format. */
export function additionalContext(hookEventName: string, text: string): object {
  return { hookSpecificOutput: { hookEventName, additionalContext: text } };
}

/** What an agent does, beside its facts in `agents.json`. */
export interface AgentCode {
  readonly files?: Partial<Record<AgentFile["what"], Pick<AgentFile, "entry" | "handler" | "text" | "mark">>>;
  readonly hooks?: Pick<AgentHooks, "answers" | "isSender">;
  readonly conversations?: Pick<Conversations, "said" | "folderOf" | "compactionIn" | "find">;
  readonly silentSkips?: NonNullable<Agent["silentSkips"]>;
}

/** The message of a user or an assistant, from a content in the usual formats; undefined for other roles. */
export function saidBy(role: unknown, content: unknown, id?: unknown, at?: unknown): SaidLine | undefined {
  if (role !== "user" && role !== "assistant") return undefined;
  const given = { id, at };
  return { role, text: textOf(content, true), id: textAt(given, "id"), at: textAt(given, "at") };
}

/** A line of an agent's transcript as a record. */
export function recordIn(
  line: JsonObject,
  { said: messageOf, folderOf }: Omit<Conversations, "folders" | "layout">,
): TranscriptRecord {
  const folder = absoluteFolder(folderOf?.(line));
  const said = messageOf?.(line);
  if (said === undefined) return { kind: "other", timeMs: timeOf(line["timestamp"]), folder };
  return saidRecord({ role: said.role, text: said.text, timeMs: timeOf(said.at), folder });
}

/** Reads the lines of an agent's transcripts. */
export function recordReader(conversations: Omit<Conversations, "folders" | "layout">): RecordReader {
  return (line) => readJson(line, (record) => recordIn(record, conversations));
}
