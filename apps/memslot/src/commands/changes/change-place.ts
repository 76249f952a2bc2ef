import type { ChangePlace } from "@memslot/agent-kit";
import type { CommandContext } from "../../command-context.ts";
import { chooseAgent } from "../../open/agents.ts";
import { readConfig } from "../../open/read-config.ts";

export async function changePlace(
  context: CommandContext,
  options: { agent?: string },
  by: string,
): Promise<ChangePlace> {
  const config = await readConfig(context, { lookAround: true });
  const agent = chooseAgent(config, options.agent);
  context.onAgent(agent.id);
  return {
    workspaceDir: agent.workspaceDir,
    settings: agent.memorySearch,
    stateDir: config.stateDir,
    changer: { agentId: agent.id, by },
    at: new Date(),
    signal: context.signal,
  };
}
