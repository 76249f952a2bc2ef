import { clientIds, clientSources } from "@memslot/core";
import { Argument, type Command, Option } from "commander";
import { recallModes } from "../hook/hook-event.ts";
import { type Run, examples, option } from "./command-parts.ts";

/** `memslot connect` and `memslot hook`: memory in other agents. */
export function describeConnect(program: Command, run: Run): void {
  program
    .command("connect")
    .description("add the memory to an agent: MCP server, hooks and a few lines of instructions")
    .addArgument(
      new Argument("[client]", "the agent (default: asks for each agent that is installed)").choices(clientIds),
    )
    .option("--user", "set up for all projects of this user (default)")
    .option("--project", "set up for the current folder only")
    .option(...option.agent)
    .option("--read-only", "exclude the tools that write notes, and record no conversations")
    .option("--no-hooks", "add only the MCP server and the instructions")
    .addOption(
      new Option("--recall <when>", "when to add matching notes to a prompt (default: strong)").choices(recallModes),
    )
    .option("--dry-run", "print the changes without writing them")
    .option("--remove", "remove everything that connect added")
    .option("--yes", "do not ask for confirmation")
    .option(...option.json)
    .addHelpText(
      "after",
      examples(
        "memslot connect",
        "memslot connect claude-code --workspace ~/notes",
        "memslot connect codex --dry-run",
        "memslot connect cursor --project --no-hooks",
        "memslot connect claude-code --remove",
      ),
    )
    .action(run(async () => (await import("../commands/connect.ts")).connect));
  program
    .command("hook")
    .description("handle one hook event of an agent, JSON on stdin; the hooks that memslot connect adds run this")
    .addArgument(new Argument("<client>", "the agent that sends the event").choices(clientIds))
    .option(...option.agent)
    .option("--read-only", "record no conversation")
    .addOption(
      new Option("--recall <when>", "when to add matching notes to a prompt").choices(recallModes).default("strong"),
    )
    .addOption(new Option("--home <dir>", "the state folder, instead of MEMSLOT_HOME").hideHelp())
    .addOption(new Option("--finish <session>", "write the digests that are due").hideHelp())
    .addHelpText("after", examples("memslot hook claude-code --workspace ~/notes < event.json"))
    .action(run(async () => (await import("../commands/hook.ts")).hook));
}

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
