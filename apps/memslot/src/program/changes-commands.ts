import type { Command } from "commander";
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
