import { clientSources } from "@memslot/core/host";
import { Argument, type Command, Option } from "commander";
import { type Run, examples, option } from "./command-parts.ts";

/** `memslot sources`: conversations that other agents store. */
export function describeSources(program: Command, run: Run): void {
  const sources = program
    .command("sources")
    .description("search the conversations that other agents store on this machine")
    .addHelpText(
      "after",
      examples("memslot sources", "memslot sources add claude-code", "memslot sources remove codex"),
    );
  sources
    .command("list", { isDefault: true })
    .description("list the available conversations and their size, and which are searched; indexes nothing")
    .option(...option.json)
    .addHelpText("after", examples("memslot sources list", "memslot sources list --json"))
    .action(run(async () => (await import("../commands/sources/sources-list.ts")).sourcesList));
  const names = new Argument(
    "<source...>",
    new Intl.ListFormat("en-GB", { type: "disjunction" }).format(clientSources),
  ).choices(clientSources);
  sources
    .command("add")
    .description("include these agents in searches, without copying their files; prints their size first")
    .addArgument(names)
    .addOption(
      new Option("--scope <which>", "search conversations of the current project, or of all projects").choices([
        "project",
        "all",
      ]),
    )
    .option("--keep", "keep a copy that stays searchable after the agent deletes the original")
    .option("--no-keep", "stop keeping copies")
    .option("--yes", "do not ask for confirmation")
    .option(...option.json)
    .addHelpText(
      "after",
      examples("memslot sources add claude-code", "memslot sources add codex gemini --scope all --keep --yes"),
    )
    .action(run(async () => (await import("../commands/sources/sources-add.ts")).sourcesAdd));
  sources
    .command("remove")
    .description("exclude these agents from searches; --forget also deletes kept copies")
    .addArgument(names)
    .option("--forget", "delete kept copies")
    .option("--yes", "do not ask for confirmation")
    .option(...option.json)
    .addHelpText("after", examples("memslot sources remove codex", "memslot sources remove claude-code --forget"))
    .action(run(async () => (await import("../commands/sources/sources-remove.ts")).sourcesRemove));
}
