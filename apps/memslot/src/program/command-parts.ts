import type { CommandContext } from "../command-context.ts";

/** What a command does. Its module is loaded only when it is asked for: `memory search` does not pay for `init`. */
export type Action<Options> = (context: CommandContext, options: Options, ...args: string[]) => Promise<number>;

/** Makes what commander calls of a command. */
export type Run = <Options>(load: () => Promise<Action<Options>>) => (...given: unknown[]) => Promise<void>;

/** Options that several commands have. */
export const option = {
  agent: ["--agent <id>", "agent whose memory to use (default: the first in agents.list, else main)"],
  eachAgent: ["--agent <id>", "only this agent (default: all)"],
  json: ["--json", "print JSON"],
} as const;

/** The last part of a command's help. */
export function examples(...commands: readonly string[]): string {
  return `\nExamples:\n${commands.map((command) => `  $ ${command}`).join("\n")}`;
}
