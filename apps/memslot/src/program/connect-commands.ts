import { Argument, type Command, Option } from "commander";
import { clientIds } from "../connect/client.ts";
import { recallModes } from "../connect/recall-mode.ts";
import { type Run, examples, option } from "./command-parts.ts";

/** `memslot connect` and `memslot hook`: the memory in the agents that people use. */
export function describeConnect(program: Command, run: Run): void {
  program
    .command("connect")
    .description("put the memory into an agent: its MCP entry, its hooks and a few lines of instructions")
    .addArgument(
      new Argument("[client]", "the agent; without it, those that are there are asked about").choices(clientIds),
    )
    .option("--user", "for all projects of this user (default)")
    .option("--project", "for the current folder alone")
    .option(...option.agent)
    .option("--read-only", "without the tool that writes notes, and without keeping what is said")
    .option("--no-hooks", "the MCP entry and the instructions alone")
    .addOption(new Option("--recall <when>", "show notes that fit a prompt (default: strong)").choices(recallModes))
    .option("--dry-run", "show what would change, and write nothing")
    .option("--remove", "take it all out again")
    .option("--yes", "ask nothing")
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
    .description("answer one event of an agent, JSON on stdin; what memslot connect writes runs it")
    .addArgument(new Argument("<client>", "the agent that sends the event").choices(clientIds))
    .option(...option.agent)
    .option("--read-only", "keep nothing of what is said")
    .addOption(new Option("--recall <when>", "show notes that fit a prompt").choices(recallModes).default("strong"))
    .addOption(new Option("--home <dir>", "the state folder, in place of MEMSLOT_HOME").hideHelp())
    .addOption(new Option("--finish <session>", "write the digests that are due").hideHelp())
    .addHelpText("after", examples("memslot hook claude-code --workspace ~/notes < event.json"))
    .action(run(async () => (await import("../commands/hook.ts")).hook));
}
