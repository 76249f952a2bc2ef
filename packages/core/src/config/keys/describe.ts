import { type AgentSources, workspaceOf } from "../agent-settings.ts";
import type { ConfigKey } from "./config-key.ts";
import { isObject } from "../deep.ts";
import { configKeys } from "./keys.ts";
import { type FoundValue, type FoundValues, lookupKey, quoteName, shownKey } from "../layer.ts";
import { redactValue } from "../redact.ts";
import type { AgentConfig, ConfigEntry } from "../types.ts";

export interface DescribedConfig {
  readonly sources: AgentSources;
  /** The effective memory slot, where something chose it. */
  readonly slot: FoundValue | undefined;
  /** The settings of an agent that overrides nothing. */
  readonly defaults: AgentConfig;
  /** What each agent overrides, by id. */
  readonly own: ReadonlyMap<string, FoundValues>;
  readonly agents: readonly AgentConfig[];
}

/** Every key of the table with its effective value and origin, then what each agent overrides. Secrets are redacted. */
export function describeConfig({ sources, slot, defaults, own, agents }: DescribedConfig): ConfigEntry[] {
  const { values } = sources;
  const none: FoundValues = new Map();
  return [...configKeys.flatMap(entriesOf), ...agents.flatMap(({ id }) => overridesOf(id))];

  function entriesOf(key: ConfigKey): ConfigEntry[] {
    if (key.same !== undefined || key.key.startsWith("agents.list[]")) return [];
    if (key.key.includes("*"))
      return [...values.values()]
        .filter((found) => found.key === key)
        .map((found) => entry(shownKey(key, found.name), key, found));
    if (key.key === "agents.defaults.workspace") {
      const { path, origin } = workspaceOf(none, sources);
      return [{ key: key.key, value: path, origin }];
    }
    if (key.key === "plugins.slots.memory") return [entry(key.key, key, slot)];
    const found = values.get(key.key);
    if (!key.key.startsWith("agents.defaults.")) return [entry(key.key, key, found)];
    // Only when it is asked for: for the time zone Node loads its tables of all zones, a third of its own start.
    const value = (): unknown => redactValue(key, valueAt(defaults, lookupKey(key, undefined, true)));
    const origin = found?.origin ?? "default";
    return [
      {
        key: key.key,
        get value() {
          return value();
        },
        origin,
      },
    ];
  }

  function overridesOf(id: string): ConfigEntry[] {
    const values = own.get(id) ?? none;
    return [...values].map(([at, found]) => {
      const shown = at === "workspace" ? { ...found, ...effectiveWorkspace(values) } : found;
      return entry(`agents.list[${quoteName(id)}].${at}`, found.key, shown);
    });
  }

  function effectiveWorkspace(values: FoundValues): { value: string; origin: string } {
    const { path, origin } = workspaceOf(values, sources);
    return { value: path, origin };
  }
}

function entry(at: string, key: ConfigKey, found: { value: unknown; origin: string } | undefined): ConfigEntry {
  return { key: at, value: redactValue(key, found?.value ?? key.default), origin: found?.origin ?? "default" };
}

function valueAt(tree: unknown, path: string): unknown {
  let value = tree;
  for (const name of path.split(".")) value = isObject(value) ? value[name] : undefined;
  return value;
}
