import { agentsWithState } from "@memslot/core";
import type { CommandContext } from "../command-context.ts";
import { readConfig } from "../open/read-config.ts";
import { ExitCode } from "../terminal/exit-code.ts";

/** What a shell may take for a word, whatever it does with it. */
const plainId = /^[\w.-]+$/u;

/** `memslot completion --agents`: the ids that `--agent` takes, a line each, for the scripts of the shells. */
export async function completedAgents(context: CommandContext): Promise<number> {
  // What is to be said of a configuration does not belong into the line that somebody is typing.
  const quiet = { ...context, output: { ...context.output, notice: () => undefined } };
  const config = await readConfig(quiet, { lookAround: true });
  const ids = [...config.agents.map(({ id }) => id), ...agentsWithState(config.stateDir)];
  for (const id of new Set(ids)) if (plainId.test(id)) context.output.print(id);
  return ExitCode.ok;
}
