import {
  type AgentConfig,
  type MemorySearchSettings,
  type MemslotConfig,
  type ConfigEdit,
  fileToEdit,
  searchGroupIn,
} from "@memslot/core";

/** What is chosen for every agent that has no choice of its own. */
export interface ProviderChoice {
  provider: "local" | "none";
  /** Undefined: stays as it is. */
  modelPath?: string | undefined;
}

/** Where the choice of the provider stands. */
export interface ConfigTarget {
  /** The file that is changed: the one in use, but the user's own one where that is a stranger's. */
  file: string;
  /** Agents that follow the defaults. */
  agents: readonly AgentConfig[];
  /** Agents with a provider or a model of their own, which keep it: `agents.list[work].memorySearch.provider`. */
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

/** True where the settings say so already. `usualPath` is what no `local.modelPath` stands for. */
export function isChosen(settings: MemorySearchSettings, choice: ProviderChoice, usualPath: string): boolean {
  if (settings.provider.trim() !== choice.provider) return false;
  return choice.modelPath === undefined || (settings.local.modelPath ?? usualPath) === choice.modelPath;
}

/** The same configuration with another provider for these agents, as it would be once it is written. */
export function withChoice(
  config: MemslotConfig,
  agents: readonly AgentConfig[],
  { provider, modelPath }: ProviderChoice,
): MemslotConfig {
  const changed = (agent: AgentConfig): AgentConfig => {
    if (!agents.some(({ id }) => id === agent.id)) return agent;
    const { memorySearch } = agent;
    const local = modelPath === undefined ? memorySearch.local : { ...memorySearch.local, modelPath };
    // The agent stands behind it, as copying its fields would ask for the machine's time zone, which is slow.
    const value: MemorySearchSettings = { ...memorySearch, provider, local };
    return Object.create(agent, { memorySearch: { value, enumerable: true } }) as AgentConfig;
  };
  return { ...config, agents: config.agents.map(changed), agent: (id) => changed(config.agent(id)) };
}

/** The changes of the file, in the spelling that it has for this group already. */
export async function editsFor(file: string, { provider, modelPath }: ProviderChoice): Promise<ConfigEdit[]> {
  const group = await searchGroupIn(file);
  const edits: ConfigEdit[] = [{ key: [...group, "provider"], value: provider }];
  return modelPath === undefined ? edits : [...edits, { key: [...group, "local", "modelPath"], value: modelPath }];
}
