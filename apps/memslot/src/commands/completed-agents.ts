import { agentsWithState } from "@memslot/core/host";
import type { CommandContext } from "../command-context.ts";
import { readConfig } from "../open/read-config.ts";
import { ExitCode } from "../terminal/exit-code.ts";

/** Ids that need no quoting in a shell. */
const plainId = /^[\w.-]+$/u;

/** `memslot completion --agents`: the values of `--agent`, one a line, for completion scripts. */
export async function completedAgents(context: CommandContext): Promise<number> {
  // Notices about the configuration must not appear in the command line that the user is typing.
  const quiet = { ...context, output: { ...context.output, notice: () => undefined } };
  const config = await readConfig(quiet, { lookAround: true });
  const ids = [...config.agents.map(({ id }) => id), ...agentsWithState(config.stateDir)];
  for (const id of new Set(ids)) if (plainId.test(id)) context.output.print(id);
  return ExitCode.ok;
}
