import { Argument, type Command, Option } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type Shell, shells } from "../completion/shells.ts";
import { wholeNumber } from "../terminal/option-values.ts";
import { type Run, examples, option } from "./command-parts.ts";

/** The log of what agents changed in the notes, and undo. */
export function describeChanges(program: Command, run: Run): void {
  program
    .command("log")
    .description("list the changes that agents made to notes, newest first")
    .option(...option.agent)
    .option("-n, --max <n>", "maximum number of changes (default: 20; all with --json)", wholeNumber(1, 100_000))
    .option(...option.json)
    .addHelpText("after", examples("memslot log", "memslot log --json --workspace ~/notes"))
    .action(run(async () => (await import("../commands/changes/log.ts")).log));
  program
    .command("undo")
    .description("undo a change of an agent exactly; keeps other changes to the note")
    .argument("[id]", "id of the change from memslot log (default: the latest)")
    .option(...option.agent)
    .option(...option.json)
    .addHelpText("after", examples("memslot undo", "memslot undo 3f9a1c02 --workspace ~/notes"))
    .action(run(async () => (await import("../commands/changes/undo.ts")).undo));
  program
    .command("restore")
    .description("restore lines that an agent removed, from memory/.trash/")
    .argument("[id]", "id of the change from memslot log (default: the latest)")
    .option(...option.agent)
    .option(...option.json)
    .addHelpText("after", examples("memslot restore", "memslot restore 3f9a1c02 --workspace ~/notes"))
    .action(run(async () => (await import("../commands/changes/undo.ts")).restore));
}

export function describeImport(program: Command, run: Run): void {
  program
    .command("import")
    .description(
      "import conversations as notes in memory/imports/; importing twice adds nothing. From OpenClaw: workspace and settings",
    )
    .argument("<source>", "chatgpt, claude or openclaw")
    .argument(
      "[file]",
      "exported zip, its unpacked folder or conversations.json; for openclaw: openclaw.json or its folder (default: ~/.openclaw)",
    )
    .option(...option.agent)
    .option("--dry-run", "count without writing")
    .option("--again", "import notes that were deleted since")
    .option(...option.json)
    .addHelpText(
      "after",
      examples(
        "memslot import chatgpt export.zip --dry-run",
        "memslot import claude export.zip",
        "memslot import openclaw --dry-run",
      ),
    )
    .action(run(async () => (await import("../commands/import.ts")).importExport));
}

/** `memslot completion`, generated from the program so that it covers every command. */
export function describeCompletion(program: Command, run: Run): void {
  program
    .command("completion")
    .description("print a shell completion script; without a shell, print how to install it")
    .addArgument(new Argument("[shell]", "the shell").choices(shells))
    // For completion scripts, which ask at each Tab.
    .addOption(new Option("--agents", "print the ids of the agents").hideHelp())
    .addHelpText("after", examples("memslot completion", "memslot completion bash"))
    .action(
      run(async () => async (context: CommandContext, { agents }: { agents?: boolean }, shell?: string) => {
        const { completedAgents, completion } = await import("../commands/completion.ts");
        if (agents === true) return completedAgents(context);
        // commander lets no other shell through.
        return completion(context, program, shell as Shell | undefined);
      }),
    );
}
