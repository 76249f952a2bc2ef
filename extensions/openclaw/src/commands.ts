import { messageOf } from "@memslot/core";
import { defaultAgentOf } from "./config.ts";
import type { HostApi, HostCommand, HostConfig } from "./host.ts";
import type { Memories } from "./memories.ts";

const description = "Search, inspect and index the notes of memory";

/** `openclaw memory`, and the same as `openclaw memslot`, which no other plugin can have taken. */
export function registerCommands(api: HostApi, memories: Memories): void {
  for (const name of ["memory", "memslot"])
    api.registerCli(({ program, config }) => describe(program.command(name).description(description), config), {
      descriptors: [{ name, description, hasSubcommands: true }],
    });

  function describe(command: HostCommand, config: HostConfig): void {
    command
      .command("status")
      .description("Show what is indexed and how it is searched")
      .option("--agent <id>", "only this agent")
      .option("--deep", "ask the embedding provider whether it answers")
      .option("--index", "index the notes first")
      .option("--json", "print JSON")
      .action(async (options: StatusOptions) => {
        const { status } = await import("./command-actions.ts");
        const agents = options.agent === undefined ? memories.agents(config) : [options.agent];
        await ended(status({ api, memories, config, agents, ...options }), options.json);
      });
    command
      .command("index")
      .description("Bring the index up to date with the notes")
      .option("--agent <id>", "only this agent")
      .option("--force", "make the whole index anew")
      .option("--verbose", "say what is done")
      .action(async (options: IndexOptions) => {
        const { index } = await import("./command-actions.ts");
        const agents = options.agent === undefined ? memories.agents(config) : [options.agent];
        await ended(index({ memories, config, agents, ...options }), false);
      });
    command
      .command("search")
      .description("Search the notes")
      .argument("[query]", "what to look for")
      .option("--query <text>", "the same as an option, for a query that begins with a dash")
      .option("--agent <id>", "the agent whose notes are searched; the default agent if left out")
      .option("--max-results <n>", "at most so many results")
      .option("--min-score <n>", "0 to 1: leave out what scores less")
      .option("--json", "print JSON")
      .action(async (query: string | undefined, options: SearchOptions) => {
        const { search } = await import("./command-actions.ts");
        const agentId = options.agent ?? defaultAgentOf(config);
        await ended(
          search({ memories, config, agentId, ...options, query: options.query ?? query }),
          options.json,
          agentId,
        );
      });
  }
}

interface StatusOptions {
  agent?: string;
  deep?: boolean;
  index?: boolean;
  json?: boolean;
}

interface IndexOptions {
  agent?: string;
  force?: boolean;
  verbose?: boolean;
}

interface SearchOptions {
  query?: string;
  agent?: string;
  maxResults?: string;
  minScore?: string;
  json?: boolean;
}

/** A failed command prints the reason and exits with 1; with `--json` like the host's commands. */
async function ended(run: Promise<void>, json = false, agentId?: string): Promise<void> {
  try {
    await run;
  } catch (error) {
    const message = messageOf(error);
    const told = { ok: false, error: { type: "cli_error", message }, ...(agentId !== undefined && { agentId }) };
    if (json) process.stdout.write(`${JSON.stringify(told)}\n`);
    else process.stderr.write(`memory: ${message}\n`);
    process.exitCode = 1;
  }
}
