import { clientSources } from "@memslot/core";
import { Argument, type Command, Option } from "commander";
import { type Run, examples, option } from "./command-parts.ts";

/** `memslot sources`: what other programs keep of their conversations. */
export function describeSources(program: Command, run: Run): void {
  const sources = program
    .command("sources")
    .description("search the conversations that other agents keep on this machine")
    .addHelpText(
      "after",
      examples("memslot sources", "memslot sources add claude-code", "memslot sources remove codex"),
    );
  sources
    .command("list", { isDefault: true })
    .description("what there is, how much, and which are searched; reads nothing into the index")
    .option(...option.json)
    .addHelpText("after", examples("memslot sources list", "memslot sources list --json"))
    .action(run(async () => (await import("../commands/sources/sources-list.ts")).sourcesList));
  const names = new Argument("<source...>", "claude-code, codex, gemini, opencode or cursor").choices(clientSources);
  sources
    .command("add")
    .description("search what these agents keep, in place and from the next search on; says first how much that is")
    .addArgument(names)
    .addOption(
      new Option("--scope <which>", "conversations of the project that is asked from, or of all").choices([
        "project",
        "all",
      ]),
    )
    .option("--keep", "keep a copy of what was said, which is found after they have deleted it")
    .option("--no-keep", "keep none from now on")
    .option("--yes", "ask nothing")
    .option(...option.json)
    .addHelpText(
      "after",
      examples("memslot sources add claude-code", "memslot sources add codex gemini --scope all --keep --yes"),
    )
    .action(run(async () => (await import("../commands/sources/sources-add.ts")).sourcesAdd));
  sources
    .command("remove")
    .description("search them no more; with --forget what was kept of them is deleted too")
    .addArgument(names)
    .option("--forget", "delete the copies that were kept")
    .option("--yes", "ask nothing")
    .option(...option.json)
    .addHelpText("after", examples("memslot sources remove codex", "memslot sources remove claude-code --forget"))
    .action(run(async () => (await import("../commands/sources/sources-remove.ts")).sourcesRemove));
}
