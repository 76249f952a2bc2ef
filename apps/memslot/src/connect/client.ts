import type { TextEdit } from "./edits/text-form.ts";

/** The clients that `memslot connect` knows, by the names that it takes. */
export const clientIds = [
  "claude-code",
  "codex",
  "gemini",
  "opencode",
  "cursor",
  "vscode",
  "claude-desktop",
  "zed",
  "windsurf",
  "antigravity",
] as const;
export type ClientId = (typeof clientIds)[number];

/** `user`: for every project of this user. `project`: for the current folder. */
export type ConnectScope = "user" | "project";

/** Where the files of a client are looked for. */
export interface ClientPlace {
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  readonly platform: NodeJS.Platform;
  readonly scope: ConnectScope;
  /** The project, absolute: the current folder. */
  readonly projectDir: string;
  readonly exists: (file: string) => boolean;
}

/** What is to be written into the files of a client. */
export interface Connection {
  /** Starts the MCP server: a program and its arguments, all absolute. */
  readonly server: { readonly command: string; readonly args: readonly string[]; readonly env: Record<string, string> };
  /** Variables of the environment with keys that the configuration asks for: no other login of the agent is handed on. */
  readonly keys: readonly string[];
  /** The line for a shell that runs the hook of a client; undefined with `--no-hooks`. */
  readonly hook: string | undefined;
  /** At most 6 lines. */
  readonly instructions: readonly string[];
}

/** One file that a connection is made of. */
export interface ClientFile {
  readonly path: string;
  readonly what: "server" | "hooks" | "instructions";
  readonly edit: TextEdit;
}

/** What one client needs. */
export interface Client {
  readonly id: ClientId;
  /** As its makers write it. */
  readonly name: string;
  readonly scopes: readonly ConnectScope[];
  /** Files and folders that are there where the client is. */
  readonly signs: (place: ClientPlace) => readonly string[];
  /** The names of its program on the PATH. */
  readonly programs: readonly string[];
  readonly files: (place: ClientPlace, connection: Connection) => readonly ClientFile[];
  /** What the user has to do or to know afterwards, one sentence each. */
  readonly notes: (place: ClientPlace, connection: Connection) => readonly string[];
}
