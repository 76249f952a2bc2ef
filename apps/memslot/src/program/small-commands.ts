import { Argument, type Command, Option } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type Shell, shells } from "../completion/shells.ts";
import { wholeNumber } from "../terminal/option-values.ts";
import { type Run, examples, option } from "./command-parts.ts";

/** What agents have changed in the notes: to be looked at and taken back. */
export function describeChanges(program: Command, run: Run): void {
  program
    .command("log")
    .description("list what agents have changed in the notes, the newest first")
    .option(...option.agent)
    .option("-n, --max <n>", "at most so many changes (default: 20; all with --json)", wholeNumber(1, 100_000))
    .option(...option.json)
    .addHelpText("after", examples("memslot log", "memslot log --json --workspace ~/notes"))
    .action(run(async () => (await import("../commands/changes/log.ts")).log));
  program
    .command("undo")
    .description("take a change of an agent back, to the byte; what else has changed in the note stays")
    .argument("[id]", "the change, as memslot log names it (default: the latest)")
    .option(...option.agent)
    .option(...option.json)
    .addHelpText("after", examples("memslot undo", "memslot undo 3f9a1c02 --workspace ~/notes"))
    .action(run(async () => (await import("../commands/changes/undo.ts")).undo));
  program
    .command("restore")
    .description("bring back lines that an agent has forgotten, out of memory/.trash/")
    .argument("[id]", "what was forgotten, as memslot log names it (default: the latest)")
    .option(...option.agent)
    .option(...option.json)
    .addHelpText("after", examples("memslot restore", "memslot restore 3f9a1c02 --workspace ~/notes"))
    .action(run(async () => (await import("../commands/changes/undo.ts")).restore));
}

/** Conversations that were had elsewhere. */
export function describeImport(program: Command, run: Run): void {
  program
    .command("import")
    .description(
      "write the conversations of an export to memory/imports/, a note each; the same export twice adds nothing. Of an OpenClaw: its workspace and settings",
    )
    .argument("<source>", "where it comes from: chatgpt, claude or openclaw")
    .argument(
      "[file]",
      "the zip that was sent to you, the folder it was unpacked to, or conversations.json; openclaw.json or its folder (default: ~/.openclaw)",
    )
    .option(...option.agent)
    .option("--dry-run", "count, and write nothing")
    .option("--again", "write notes again that were deleted here")
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
