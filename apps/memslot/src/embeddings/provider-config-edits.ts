import { type AgentConfig, type MemorySearchSettings, type MemslotConfig } from "@memslot/core";
import { type ConfigEdit, fileToEdit, searchGroupIn } from "@memslot/core/host";

/** The provider for every agent without a setting of its own. */
export interface ProviderChoice {
  provider: "local" | "none";
  modelPath?: string | undefined;
}

/** Where the provider is configured. */
export interface ConfigTarget {
  /** The file to change: the one in use, or the user's own if that one is not trusted. */
  file: string;
  agents: readonly AgentConfig[];
  /** Agents with their own provider or model, which is kept: `agents.list[work].memorySearch.provider`. */
  keepers: readonly { id: string; key: string }[];
}

export function configTarget(config: MemslotConfig): ConfigTarget {
  const keys = new Set(config.describe().map(({ key }) => key));
  const ownKey = ({ id }: AgentConfig): string | undefined =>
    ["provider", "local.modelPath"]
      .flatMap((name) => [id, JSON.stringify(id)].map((shown) => `agents.list[${shown}].memorySearch.${name}`))
      .find((key) => keys.has(key));
  return {
    file: fileToEdit(config),
    agents: config.agents.filter((agent) => ownKey(agent) === undefined),
    keepers: config.agents.flatMap((agent) => {
      const key = ownKey(agent);
      return key === undefined ? [] : [{ id: agent.id, key }];
    }),
  };
}

/** Whether the settings have this choice already. `usualPath`: the default of `local.modelPath`. */
export function isChosen(settings: MemorySearchSettings, choice: ProviderChoice, usualPath: string): boolean {
  if (settings.provider.trim() !== choice.provider) return false;
  return choice.modelPath === undefined || (settings.local.modelPath ?? usualPath) === choice.modelPath;
}

/** The configuration with another provider for these agents. */
export function withChoice(
  config: MemslotConfig,
  agents: readonly AgentConfig[],
  { provider, modelPath }: ProviderChoice,
): MemslotConfig {
  const changed = (agent: AgentConfig): AgentConfig => {
    if (!agents.some(({ id }) => id === agent.id)) return agent;
    const { memorySearch } = agent;
    const local = modelPath === undefined ? memorySearch.local : { ...memorySearch.local, modelPath };
    // Inherits from the agent: copying its fields would read the time zone, which is slow.
    const value: MemorySearchSettings = { ...memorySearch, provider, local };
    return Object.create(agent, { memorySearch: { value, enumerable: true } }) as AgentConfig;
  };
  return { ...config, agents: config.agents.map(changed), agent: (id) => changed(config.agent(id)) };
}

/** The edits of the file, using the key that it has for this group. */
export async function editsFor(file: string, { provider, modelPath }: ProviderChoice): Promise<ConfigEdit[]> {
  const group = await searchGroupIn(file);
  const edits: ConfigEdit[] = [{ key: [...group, "provider"], value: provider }];
  return modelPath === undefined ? edits : [...edits, { key: [...group, "local", "modelPath"], value: modelPath }];
}
