import { wantedValue } from "./check-value.ts";
import type { ConfigKey } from "./config-key.ts";
import { configKeys } from "./keys.ts";

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
    type: wantedValue(key),
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
