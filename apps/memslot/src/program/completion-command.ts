import { Argument, type Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type Shell, shells } from "../completion/shells.ts";
import { type Run, examples } from "./command-parts.ts";

/** `memslot completion`: made of the program itself, so that it knows every command. */
export function describeCompletion(program: Command, run: Run): void {
  program
    .command("completion")
    .description("print a script by which a shell completes commands and options; alone it says how to install it")
    .addArgument(new Argument("[shell]", "the shell").choices(shells))
    .addHelpText("after", examples("memslot completion", "memslot completion bash"))
    .action(
      run(async () => async (context: CommandContext, _options: object, shell?: string) => {
        const { completion } = await import("../commands/completion.ts");
        // commander lets no other shell through.
        return completion(context, program, shell as Shell | undefined);
      }),
    );
}
