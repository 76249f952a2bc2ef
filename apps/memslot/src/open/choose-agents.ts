import type { AgentConfig, MemslotConfig } from "@memslot/core";
import { agentsWithState, memoryState } from "@memslot/core/host";
import { agents } from "@memslot/indexing/host";
import { printable } from "../terminal/output.ts";
import { UsageError } from "../terminal/exit-code.ts";
import type { CommandContext } from "../command-context.ts";

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

/** Environment variables of an embedding provider. */
const variables = { openai: /^OPENAI_/u, gemini: /^(?:GEMINI|GOOGLE)_/u };

/** Whether the configuration of an agent leaves the embedding provider open. */
export function isAuto({ memorySearch: { provider } }: AgentConfig): boolean {
  return ["", "auto"].includes(provider.trim().toLowerCase());
}

/** Whether an agent's shell runs this process: all in its environment is the agent's. */
export function isInShellOfAgent(env: NodeJS.ProcessEnv): boolean {
  return agents.some(({ environment }) => environment !== undefined && Boolean(env[environment.shell]));
}

/** The configuration of a process started by an agent: keys in its environment count only for a named provider. */
export function withoutAgentKeys(
  config: MemslotConfig,
  agent: AgentConfig,
  notice: (line: string) => void,
): MemslotConfig {
  if (!isAuto(agent)) return config;
  const fallback = agent.memorySearch.fallback.trim().toLowerCase();
  const hidden = Object.entries(variables).flatMap(([id, names]) => (id === fallback ? [] : [names]));
  const isHidden = (name: string): boolean => hidden.some((names) => names.test(name));
  const unused = ["OPENAI_API_KEY", "GEMINI_API_KEY"].filter(
    (name) => isHidden(name) && config.environment(name) !== undefined,
  );
  if (unused.length > 0)
    notice(
      `${unused.join(" and ")} from the agent ${unused.length > 1 ? "are" : "is"} not used: set memorySearch.provider to enable vector search`,
    );
  return { ...config, environment: (name) => (isHidden(name) ? undefined : config.environment(name)) };
}

/** Why the memory of an agent is disabled; undefined if it is enabled. */
export function disabledReason(config: MemslotConfig, agent: AgentConfig): string | undefined {
  const { enabled, reason } = memoryState(config, agent.id);
  return enabled ? undefined : (reason ?? "the configuration says so");
}

export function printDisabled(
  { output }: CommandContext,
  agentId: string,
  reason: string,
  options: { json?: boolean },
): void {
  if (options.json === true) output.printJson({ agentId, status: "disabled" });
  else output.print(`Memory is disabled for agent "${agentId}": ${reason}.`);
}
