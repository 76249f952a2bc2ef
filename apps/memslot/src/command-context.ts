import type { Output } from "./terminal/output.ts";

/** The environment of a command, and the options that all commands share. */
export interface CommandContext {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly output: Output;
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly signal: AbortSignal;
  /** Asks for more time to end after a signal than other commands have. */
  readonly needsToEnd?: (milliseconds: number) => void;
  /** Milliseconds since the start of this process; absent without a process of its own. */
  readonly runningMs?: (() => number) | undefined;
  /** `--config FILE`, as written. */
  readonly configPath: string | undefined;
  /** `--workspace DIR`, as written. */
  readonly workspace: string | undefined;
  /** Called with the agent, so that a failure can name it. */
  readonly onAgent: (agentId: string) => void;
}

/** Options that many commands share: `--agent` and `--json`. */
export interface CommonOptions {
  agent?: string;
  json?: boolean;
}
