import type { AgentConfig, MemslotConfig } from "@memslot/core";
import { UsageError } from "./usage-error.ts";

/** The agent that was named, else the default one. */
export function chooseAgent(config: MemslotConfig, agentId: string | undefined): AgentConfig {
  if (agentId !== undefined) return namedAgent(config, agentId);
  const [first] = config.agents;
  return first ?? config.agent("main");
}

/** The agent that was named, else all of them. */
export function chooseAgents(config: MemslotConfig, agentId: string | undefined): readonly AgentConfig[] {
  return agentId === undefined ? config.agents : [namedAgent(config, agentId)];
}

function namedAgent(config: MemslotConfig, agentId: string): AgentConfig {
  if (agentId.trim() === "") throw new UsageError("--agent needs the id of an agent");
  const known = config.agents.map(({ id }) => id);
  if (listsAgents(config) && !known.includes(agentId)) {
    throw new UsageError(
      `there is no agent "${agentId}" in ${config.file ?? "the configuration"}; the agents are ${known.map((id) => `"${id}"`).join(", ")}`,
    );
  }
  return config.agent(agentId);
}

/** Without `agents.list` any id is an agent with the default settings. */
function listsAgents(config: MemslotConfig): boolean {
  return config.describe().some(({ key }) => key.startsWith("agents.list"));
}
