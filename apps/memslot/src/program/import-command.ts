import type { Command } from "commander";
import { type Run, examples, option } from "./command-parts.ts";

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
