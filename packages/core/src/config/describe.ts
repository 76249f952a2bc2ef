import type { AgentConfig, ConfigEntry } from "../contract/config.ts";
import { type AgentSources, workspaceOf } from "./agent-settings.ts";
import { valueAt } from "./deep.ts";
import { type ConfigKey, configKeys } from "./keys.ts";
import { type FoundValue, type FoundValues, quoteName, shownKey } from "./layer.ts";
import { redactValue } from "./redact.ts";
import { valueTypes } from "./value-types.ts";

/**
 * Every key of the table with its effective value and origin, then what each agent overrides (`own`). Secrets are
 * redacted. `slot` is what chose the memory plugin; `defaults` are the settings of an agent that overrides nothing.
 */
export function describeConfig(
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
        // Only when it is asked for: for the time zone Node loads its tables of all zones, a third of its own start.
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

/** The name of a key inside an agent: `memorySearch.query.maxResults`. */
function relativeKey(key: string): string {
  return key.replace(/^agents\.(?:defaults|list\[\])\./, "");
}

function entry(at: string, key: ConfigKey, found: { value: unknown; origin: string } | undefined): ConfigEntry {
  return { key: at, value: redactValue(key, found?.value ?? key.default), origin: found?.origin ?? "default" };
}

export interface ConfigReferenceRow {
  /** Dotted; `*` stands for any name and `[]` for the items of a list. */
  key: string;
  type: string;
  /** As it would be written; empty where there is none. */
  default: string;
  doc: string;
  /** Whether the first configuration file has it, as a comment with its default. */
  isCommon: boolean;
}

/** The table of keys for people: what `docs/configuration.md` lists, in the same order. */
export function configReference(): ConfigReferenceRow[] {
  return configKeys.map((key) => ({
    key: key.key,
    type: valueTypes[key.type].wanted(key),
    default: writtenDefault(key),
    doc: key.doc,
    isCommon: key.common === true,
  }));
}

/** The default of a key as one would write it, with the usual state folder. */
function writtenDefault(key: ConfigKey): string {
  if (key.default === undefined) return "";
  const text = typeof key.default === "string" ? key.default.replace("{stateDir}", "~/.memslot") : key.default;
  return JSON.stringify(text);
}
