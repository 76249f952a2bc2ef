import type { AgentConfig, MemslotConfig } from "@memslot/core";

/** Environment variables of an embedding provider. */
const variables = { openai: /^OPENAI_/u, gemini: /^(?:GEMINI|GOOGLE)_/u };

/** Whether the configuration of an agent leaves the embedding provider open. */
export function isAuto({ memorySearch: { provider } }: AgentConfig): boolean {
  return ["", "auto"].includes(provider.trim().toLowerCase());
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
    notice(`${unused.join(" and ")} from the agent is not used: set memorySearch.provider to enable vector search`);
  return { ...config, environment: (name) => (isHidden(name) ? undefined : config.environment(name)) };
}
