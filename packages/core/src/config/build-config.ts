import { MemoryError } from "../contract/errors.ts";
import { agentIdProblem, agentIdTwin, twinError } from "./agent-id.ts";
import { type AgentSources, type WorkspaceOverride, agentSettings } from "./agent-settings.ts";
import { clientFolders } from "./client-folders.ts";
import { deepFreeze, isObject } from "./deep.ts";
import { describeConfig } from "./keys/describe.ts";
import { type ConfigLayer, type FoundValue, type FoundValues, textsAt } from "./layer.ts";
import { type Environment, variable } from "./paths.ts";
import { sourceNotices } from "./source-settings.ts";
import type { AgentConfig, MemslotConfig, PluginEntry, PluginsConfig, TrustedCode } from "./types.ts";

export interface ConfigParts {
  readonly file: string | undefined;
  readonly trusted: boolean;
  /** Undefined: whatever the files name may be loaded. */
  readonly trustedCode?: readonly TrustedCode[] | undefined;
  readonly stateDir: string;
  readonly env: Environment;
  /** Settled; a later one is laid over the ones before it. */
  readonly layers: readonly ConfigLayer[];
  readonly override: WorkspaceOverride | undefined;
  /** In place of the usual workspace. */
  readonly foundWorkspace?: string | undefined;
  readonly ownOrigin: string | undefined;
  readonly resolveFrom: string | undefined;
}

/** The plugin that the older key `memory.backend` stands for. */
const backendSlots: Readonly<Record<string, string>> = { builtin: "memory-core", qmd: "memory-qmd" };

/** Makes the frozen configuration from what the files say. Throws `CONFIG` for values that do not go together. */
export function buildConfig(parts: ConfigParts): MemslotConfig {
  const { stateDir, layers } = parts;
  const values: FoundValues = new Map(layers.flatMap((layer) => [...layer.values]));
  const own = mergedAgents(layers);
  const notices = layers.flatMap((layer) => layer.notices);
  const label = parts.file ?? layers.at(-1)?.label ?? "the configuration";
  const slot = memorySlot(values, notices);

  const { override, foundWorkspace, ownOrigin } = parts;
  const sources: AgentSources = {
    stateDir,
    values,
    override,
    foundWorkspace,
    ownOrigin,
    label,
    clientFolders: clientFolders(parts.env),
  };
  const make = (id: string): AgentConfig => deepFreeze(agentSettings(id, own.get(id) ?? new Map(), sources));
  // With the placeholder as its id, so that `describe` can show the path of any agent's index.
  const defaults = make("{agentId}");
  const agents = orderedIds(own, layers).map(make);
  refuseSharedStores(agents, label);
  notices.push(...sourceNotices(values, "agents.defaults.", defaults.memorySearch.sources));
  for (const { id, memorySearch } of agents)
    notices.push(...sourceNotices(own.get(id) ?? new Map(), "", memorySearch.sources));

  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  const citations = values.get("memory.citations")?.value;
  const write = values.get("memory.write")?.value;
  const config: MemslotConfig = {
    file: parts.file,
    trusted: parts.trusted,
    stateDir,
    notices: [...new Set(notices)],
    agents,
    agent(agentId) {
      const problem = agentIdProblem(agentId);
      if (problem !== undefined)
        throw new MemoryError("INVALID_ARGUMENT", `agent id: ${problem}; name an agent, for example "main"`);
      const twin = agentIdTwin(agentId, byId.keys());
      if (twin !== undefined) throw twinError(agentId, twin);
      return byId.get(agentId) ?? make(agentId);
    },
    citations: citations === "on" || citations === "off" ? citations : "auto",
    write: write === "append" || write === "edit" ? write : undefined,
    plugins: pluginsConfig(values, slot, parts),
    providers: providers(values),
    environment: (name) => variable(parts.env, name),
    describe: () => describeConfig({ sources, slot, defaults, own, agents }),
  };
  return deepFreeze(config);
}

/** `plugins.slots.memory`, or what `memory.backend` means where the slot is not given. */
function memorySlot(values: FoundValues, notices: string[]): FoundValue | undefined {
  const slot = values.get("plugins.slots.memory");
  const backend = values.get("memory.backend");
  if (backend === undefined) return slot;
  const meant = backendSlots[String(backend.value)];
  if (slot === undefined) return { ...backend, value: meant };
  if (slot.value !== meant) {
    notices.push(`${backend.origin}: memory.backend is ignored, because plugins.slots.memory is given too`);
  }
  return slot;
}

function mergedAgents(layers: readonly ConfigLayer[]): Map<string, FoundValues> {
  const merged = new Map<string, FoundValues>();
  for (const layer of layers.toReversed()) {
    for (const [id, values] of layer.agents) merged.set(id, new Map([...values, ...(merged.get(id) ?? [])]));
  }
  return merged;
}

/** The ids of all agents, the default one first; `main` where there is none. */
function orderedIds(own: Map<string, FoundValues>, layers: readonly ConfigLayer[]): string[] {
  const ids = [...own.keys()];
  if (ids.length === 0) return ["main"];
  const chosen = layers.map((layer) => defaultAgent(layer)).findLast((id) => id !== undefined);
  return chosen === undefined ? ids : [chosen, ...ids.filter((id) => id !== chosen)];
}

function defaultAgent({ agents, label }: ConfigLayer): string | undefined {
  const chosen = [...agents].filter(([, values]) => values.get("default")?.value === true).map(([id]) => id);
  if (chosen.length > 1) {
    throw new MemoryError(
      "CONFIG",
      `${label}: agents.list has more than one agent with default: true (${chosen.join(", ")}); keep one`,
    );
  }
  return chosen[0];
}

/** Each agent has an index of its own: another agent's notes must not turn up in its answers. */
function refuseSharedStores(agents: readonly AgentConfig[], label: string): void {
  const owners = new Map<string, string>();
  for (const { id, memorySearch } of agents) {
    const other = owners.get(memorySearch.store.path);
    if (other !== undefined) {
      throw new MemoryError(
        "CONFIG",
        `${label}: the agents ${other} and ${id} have the same memorySearch.store.path, ${memorySearch.store.path}; write {agentId} into it`,
      );
    }
    owners.set(memorySearch.store.path, id);
  }
}

function pluginsConfig(
  values: FoundValues,
  slot: FoundValue | undefined,
  { resolveFrom, trustedCode }: Pick<ConfigParts, "resolveFrom" | "trustedCode">,
): PluginsConfig {
  return {
    enabled: values.get("plugins.enabled")?.value !== false,
    slots: {
      memory: slot === undefined ? undefined : String(slot.value),
      ...(slot?.key.key === "memory.backend" && { chosenBy: slot.key.key }),
    },
    entries: pluginEntries(values),
    load: { paths: textsAt(values, "plugins.load.paths") },
    deny: textsAt(values, "plugins.deny"),
    resolveFrom,
    trustedCode,
  };
}

interface MadeEntry {
  enabled: boolean | undefined;
  fallback: string | undefined;
  config: Record<string, unknown>;
}

function pluginEntries(values: FoundValues): Readonly<Record<string, PluginEntry>> {
  const entries = byName<MadeEntry>();
  const entry = (id: string): MadeEntry => (entries[id] ??= { enabled: undefined, fallback: undefined, config: {} });
  const qmd = values.get("memory.qmd")?.value;
  if (isObject(qmd)) entry("memory-qmd").config = qmd;
  for (const { key, name, value } of values.values()) {
    if (name === undefined) continue;
    if (key.key === "plugins.entries.*.enabled") entry(name).enabled = value === true;
    if (key.key === "plugins.entries.*.fallback") entry(name).fallback = String(value);
    if (key.key === "plugins.entries.*.config" && isObject(value))
      entry(name).config = { ...entry(name).config, ...value };
  }
  return entries;
}

function providers(values: FoundValues): MemslotConfig["providers"] {
  const result = byName<{ apiKey: string | undefined; baseUrl: string | undefined }>();
  for (const { key, name, value } of values.values()) {
    if (name === undefined || !key.key.startsWith("models.providers.")) continue;
    const provider = (result[name] ??= { apiKey: undefined, baseUrl: undefined });
    if (key.key.endsWith(".apiKey")) provider.apiKey = String(value);
    else provider.baseUrl = String(value);
  }
  return result;
}

/** Without a prototype, so that a plugin or provider called `constructor` is not found where none was given. */
function byName<T>(): Record<string, T> {
  return Object.create(null);
}
