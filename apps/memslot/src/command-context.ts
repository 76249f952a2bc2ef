import type { Output } from "./terminal/output.ts";

/** What every command is given: the world around the process, and the options that all commands share. */
export interface CommandContext {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly output: Output;
  /** Where answers to questions come from. */
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
  /** Asks for more time to end after a signal than other commands have. */
  readonly needsToEnd?: (milliseconds: number) => void;
  /** How long this process has run, in milliseconds; absent where the command does not run in a process of its own. */
  readonly runningMs?: (() => number) | undefined;
  /** `--config FILE`, as written. */
  readonly configPath: string | undefined;
  /** `--workspace DIR`, as written. */
  readonly workspace: string | undefined;
  /** Told once it is known whose memory is asked, so that a failure can name the agent. */
  readonly onAgent: (agentId: string) => void;
}
