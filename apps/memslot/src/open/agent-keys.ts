import type { AgentConfig, MemslotConfig } from "@memslot/core";

/** Variables of the environment that belong to an embedding provider. */
const variables = { openai: /^OPENAI_/u, gemini: /^(?:GEMINI|GOOGLE)_/u };

/** Whether the configuration of an agent names no embedding provider. */
export function isAuto({ memorySearch: { provider } }: AgentConfig): boolean {
  return ["", "auto"].includes(provider.trim().toLowerCase());
}

/**
 * The configuration of a process that an agent has started: the keys in its environment are logins of that agent. They are
 * used only where the configuration names a provider. `notice` reports a key that is not used.
 */
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
      `${unused.join(" and ")} of the agent that started this is not used: name memorySearch.provider to search by meaning`,
    );
  return { ...config, environment: (name) => (isHidden(name) ? undefined : config.environment(name)) };
}
