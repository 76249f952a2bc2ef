import type { CommandContext } from "./command-context.ts";

/** What a command does. Its module is loaded only when it is asked for: `memory search` does not pay for `init`. */
export type Action<Options> = (context: CommandContext, options: Options, ...args: string[]) => Promise<number>;
