import { Argument, type Command, Option } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type Shell, shells } from "../completion/shells.ts";
import { type Run, examples } from "./command-parts.ts";

/** `memslot completion`: made of the program itself, so that it knows every command. */
export function describeCompletion(program: Command, run: Run): void {
  program
    .command("completion")
    .description("print a script by which a shell completes commands and options; alone it says how to install it")
    .addArgument(new Argument("[shell]", "the shell").choices(shells))
    // For the scripts, which ask at each Tab: there may be new ones.
    .addOption(new Option("--agents", "print the ids of the agents").hideHelp())
    .addHelpText("after", examples("memslot completion", "memslot completion bash"))
    .action(
      run(async () => async (context: CommandContext, { agents }: { agents?: boolean }, shell?: string) => {
        if (agents === true) return (await import("../commands/completed-agents.ts")).completedAgents(context);
        const { completion } = await import("../commands/completion.ts");
        // commander lets no other shell through.
        return completion(context, program, shell as Shell | undefined);
      }),
    );
}
