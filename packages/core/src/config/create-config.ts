import type { ConfigValues } from "../contract/config-values.ts";
import type {
  AgentConfig,
  ConfigEntry,
  MemslotConfig,
  PluginEntry,
  PluginsConfig,
  TrustedCode,
} from "../contract/config.ts";
import { MemoryError } from "../contract/errors.ts";
import { type AgentSources, agentSettings, configValues, sourceNotices, workspaceOf } from "./agent-settings.ts";
import { deepFreeze, valueAt } from "./plain-data.ts";
import { type ConfigKey, configKeys, redactValue } from "./keys.ts";
import { checkAgentId, quoteName } from "./agent-ids.ts";
import { type Environment, clientFolders, variable } from "./paths.ts";
import { type ConfigLayer, type FoundValue, type FoundValues, shownKey } from "./read-layer.ts";

interface ConfigParts extends Pick<AgentSources, "stateDir" | "override" | "foundWorkspace" | "ownOrigin"> {
  readonly file?: string | undefined;
  /** True if omitted. */
  readonly trusted?: boolean;
  /** Undefined: no restriction. */
  readonly trustedCode?: readonly TrustedCode[] | undefined;
  readonly env: Environment;
  /** Later layers override earlier ones. At most one layer has agents. */
  readonly layers: readonly ConfigLayer[];
  readonly resolveFrom: string | undefined;
}

const backendSlots: Readonly<Record<string, string>> = { builtin: "memory-core", qmd: "memory-qmd" };

/** Builds the frozen configuration from the layers. Throws `CONFIG` for conflicting values. */
export function createConfig(parts: ConfigParts): MemslotConfig {
  const { file, trusted = true, stateDir, env, layers } = parts;
  const values: FoundValues = new Map(layers.flatMap((layer) => [...layer.values]));
  const written = new Map(layers.flatMap((layer) => [...layer.agents]));
  const notices = layers.flatMap((layer) => layer.notices);
  const label = file ?? layers.at(-1)?.label ?? "the configuration";
  const slot = memorySlot(values, notices);

  const sources: AgentSources = { ...parts, values, label, clientFolders: clientFolders(env) };
  const none: FoundValues = new Map();
  const make = (id: string, own = none): AgentConfig => deepFreeze(agentSettings(id, own, sources));
  // With the placeholder as its id, so that `describe` can show the path of any agent's index.
  const defaults = make("{agentId}");
  const own = new Map(orderedIds(written).map((id) => [id, written.get(id) ?? none]));
  const agents = [...own].map(([id, values]) => make(id, values));
  refuseSharedStores(agents, label);
  notices.push(...sourceNotices(values, defaults.memorySearch.sources));
  for (const { id, memorySearch } of agents) notices.push(...sourceNotices(own.get(id) ?? none, memorySearch.sources));

  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  const { memory, plugins, models } = configValues(values, stateDir);
  return deepFreeze({
    file,
    trusted,
    stateDir,
    notices: [...new Set(notices)],
    agents,
    agent(agentId: string) {
      checkAgentId(agentId, [...byId.keys()], '; name an agent, for example "main"');
      return byId.get(agentId) ?? make(agentId);
    },
    citations: memory.citations,
    write: memory.write,
    plugins: {
      enabled: plugins.enabled,
      slots: {
        memory: slot === undefined ? undefined : String(slot.value),
        ...(slot?.key.key === "memory.backend" && { chosenBy: "memory.backend" as const }),
      },
      entries: pluginEntries(plugins.entries, memory.qmd),
      load: plugins.load,
      deny: plugins.deny,
      resolveFrom: parts.resolveFrom,
      trustedCode: parts.trustedCode,
    },
    providers: models.providers,
    environment: (name: string) => variable(env, name),
    describe: () => describeConfig(sources, slot, defaults, own),
  });
}

/** `plugins.slots.memory`, or what `memory.backend` means where the slot is not given. */
function memorySlot(values: FoundValues, notices: string[]): FoundValue | undefined {
  const slot = values.get("plugins.slots.memory");
  const backend = values.get("memory.backend");
  if (backend === undefined) return slot;
  const meant = backendSlots[String(backend.value)];
  if (slot === undefined) return { ...backend, value: meant };
  if (slot.value !== meant)
    notices.push(`${backend.origin}: memory.backend is ignored, because plugins.slots.memory is given too`);
  return slot;
}

function orderedIds(own: ReadonlyMap<string, FoundValues>): string[] {
  const chosen = new Map<string, FoundValue>();
  for (const [id, values] of own) {
    const found = values.get("agents.list[].default");
    if (found?.value === true) chosen.set(id, found);
  }
  const [first, second] = chosen.values();
  if (first !== undefined && second !== undefined)
    throw new MemoryError(
      "CONFIG",
      `${first.origin}: agents.list has more than one agent with default: true (${[...chosen.keys()].join(", ")}); keep one`,
    );
  return own.size === 0 ? ["main"] : [...new Set([...chosen.keys(), ...own.keys()])];
}

function refuseSharedStores(agents: readonly AgentConfig[], label: string): void {
  const owners = new Map<string, string>();
  for (const { id, memorySearch } of agents) {
    const { path } = memorySearch.store;
    const other = owners.get(path);
    if (other !== undefined)
      throw new MemoryError(
        "CONFIG",
        `${label}: the agents ${other} and ${id} have the same memorySearch.store.path, ${path}; write {agentId} into it`,
      );
    owners.set(path, id);
  }
}

/** What is written of each plugin. The options of memory-qmd are laid over `memory.qmd`. */
function pluginEntries(
  written: ConfigValues["plugins"]["entries"],
  qmd: ConfigValues["memory"]["qmd"],
): PluginsConfig["entries"] {
  const entries: Record<string, PluginEntry> = Object.create(null);
  if (qmd !== undefined) entries["memory-qmd"] = { enabled: undefined, fallback: undefined, config: qmd };
  for (const [id, { enabled, fallback, config }] of Object.entries(written))
    entries[id] = { enabled, fallback, config: { ...entries[id]?.config, ...config } };
  return entries;
}

/** Every key of the table with its effective value and origin, then what each agent overrides (`own`). */
function describeConfig(
  sources: AgentSources,
  slot: FoundValue | undefined,
  defaults: AgentConfig,
  own: ReadonlyMap<string, FoundValues>,
): ConfigEntry[] {
  const { values } = sources;
  return [...configKeys.flatMap(entriesOf), ...[...own].flatMap(overridesOf)];

  function entriesOf(key: ConfigKey): ConfigEntry[] {
    if (key.same !== undefined || key.key.startsWith("agents.list[]")) return [];
    if (key.key.includes("*"))
      return [...values.values()]
        .filter((found) => found.key === key)
        .map((found) => entry(shownKey(key, found.name), key, found));
    if (key.key === "plugins.slots.memory") return [entry(key.key, key, slot)];
    const found = values.get(key.key);
    if (!key.key.startsWith("agents.defaults.")) return [entry(key.key, key, found)];
    if (key.key === "agents.defaults.workspace") return [entry(key.key, key, workspaceValue(new Map()))];
    return [
      {
        key: key.key,
        get value() {
          return redactValue(key, valueAt(defaults, relativeKey(key.key).split(".")));
        },
        origin: found?.origin ?? "default",
      },
    ];
  }

  function overridesOf([id, values]: [string, FoundValues]): ConfigEntry[] {
    return [...values].map(([at, found]) => {
      const shown = at === "agents.defaults.workspace" ? workspaceValue(values) : found;
      return entry(`agents.list[${quoteName(id)}].${relativeKey(at)}`, found.key, shown);
    });
  }

  function workspaceValue(values: FoundValues): { value: string; origin: string } {
    const { path, origin } = workspaceOf(values, sources);
    return { value: path, origin };
  }
}

function relativeKey(key: string): string {
  return key.replace(/^agents\.(?:defaults|list\[\])\./, "");
}

function entry(at: string, key: ConfigKey, found: { value: unknown; origin: string } | undefined): ConfigEntry {
  return { key: at, value: redactValue(key, found?.value ?? key.default), origin: found?.origin ?? "default" };
}
