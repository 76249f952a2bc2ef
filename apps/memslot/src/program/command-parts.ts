import type { CommandContext } from "../command-context.ts";

/** The function of a command. Its module is loaded on demand, which keeps other commands fast. */
export type Action<Options> = (context: CommandContext, options: Options, ...args: string[]) => Promise<number>;

/** Makes the handler for commander. */
export type Run = <Options>(load: () => Promise<Action<Options>>) => (...given: unknown[]) => Promise<void>;

export const option = {
  agent: ["--agent <id>", "agent whose memory to use (default: the first in agents.list, else main)"],
  eachAgent: ["--agent <id>", "only this agent (default: all)"],
  json: ["--json", "print JSON"],
} as const;

export function examples(...commands: readonly string[]): string {
  return `\nExamples:\n${commands.map((command) => `  $ ${command}`).join("\n")}`;
}
