import { type AgentConfig, type MemslotConfig } from "@memslot/core";
import { agentsWithState } from "@memslot/core/host";
import { printable } from "../terminal/printable.ts";
import { UsageError } from "../terminal/usage-error.ts";

export function chooseAgent(config: MemslotConfig, agentId: string | undefined): AgentConfig {
  if (agentId !== undefined) return namedAgent(config, agentId);
  const [first] = config.agents;
  return first ?? config.agent("main");
}

export function chooseAgents(config: MemslotConfig, agentId: string | undefined): readonly AgentConfig[] {
  return agentId === undefined ? config.agents : [namedAgent(config, agentId)];
}

function namedAgent(config: MemslotConfig, agentId: string): AgentConfig {
  if (agentId.trim() === "") throw new UsageError("--agent needs an agent id");
  const known = config.agents.map(({ id }) => id);
  if (known.includes(agentId)) return config.agent(agentId);
  // Without agents.list, an agent with existing state is known too.
  const kept = listsAgents(config) ? [] : agentsWithState(config.stateDir);
  if (kept.includes(agentId)) return config.agent(agentId);
  throw new UsageError(
    `unknown agent ${quoted(agentId)} in ${config.file ?? "the configuration"}; the agents are ${[...new Set([...known, ...kept])].map(quoted).join(", ")}. To add an agent, add it to agents.list.`,
  );
}

function quoted(id: string): string {
  return printable(JSON.stringify(id.length > 64 ? `${id.slice(0, 64)}…` : id));
}

function listsAgents(config: MemslotConfig): boolean {
  return config.describe().some(({ key }) => key.startsWith("agents.list"));
}
