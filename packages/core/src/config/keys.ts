import { nearestWord } from "../text/nearest-word.ts";
import rows from "./keys.json" with { type: "json" };

/** What a value of a key may be, see `value-types.ts`. */
export type KeyType =
  | "string"
  | "path"
  | "url"
  | "boolean"
  | "timeZone"
  | "integer"
  | "number"
  | "choice"
  | "strings"
  | "globs"
  | "paths"
  | "map"
  | "extraPaths"
  | "object"
  | "same";

/** One key of the configuration. Everything that is known about a key stands in its row of `keys.json` and nowhere else. */
export interface ConfigKey {
  /** Dotted; `*` stands for any name and `[]` for the items of a list. */
  readonly key: string;
  readonly type: KeyType;
  /** Absent where there is none. `{stateDir}` and `{agentId}` are replaced when it is used. */
  readonly default?: unknown;
  /** One line in plain words. */
  readonly doc: string;
  readonly range?: readonly [minimum: number, maximum: number];
  /** All values of type `choice`; further values of type `boolean`. */
  readonly choices?: readonly string[];
  /** Never printed. */
  readonly secret?: true;
  /**
   * An untrusted file may set it. Only for keys that decide how a search answers: none that widens what is read, names
   * places, owners or agents, sends data (as `query.hybrid.enabled` does), costs money or switches something off. Every
   * other key is set aside until the file is trusted.
   */
  readonly harmless?: true;
  /** A path that may also be an address such as `hf:user/model`. */
  readonly address?: true;
  /** For type `same`: the key whose values, or sub-keys, may be written here too. */
  readonly same?: string;
  /** `memslot init` writes it, as a comment with its default. */
  readonly common?: true;
}

/**
 * The table of keys. It drives checks, defaults, origins, redaction, trust, the reference, `memslot init` and, by
 * `pnpm generate`, the types of the settings. A new key is one row.
 */
export const configKeys: readonly ConfigKey[] = rows as readonly ConfigKey[];

/**
 * The known key nearest to an unknown one: a name much like it in the same group, else a place elsewhere that has
 * exactly this name. `group` is the dotted pattern of the group that it was written in.
 */
export function nearestKey(name: string, group: string, siblings: Iterable<string>): string | undefined {
  const sibling = nearestWord(name, siblings);
  if (sibling !== undefined) return group === "" ? sibling : `${group}.${sibling}`;
  const places = configKeys.flatMap(({ key, same }) => {
    const names = key.split(".");
    const at = names.findIndex((part) => part.toLowerCase() === name.toLowerCase());
    return same === undefined && at > 0 ? [names.slice(0, at + 1).join(".")] : [];
  });
  return places.toSorted((left, right) => closeness(right, group) - closeness(left, group))[0];
}

/** Names shared with the group from the left, and shorter places before longer ones. */
function closeness(place: string, group: string): number {
  const names = place.split(".");
  const groupNames = group.split(".");
  const differs = names.findIndex((name, index) => name !== groupNames[index]);
  return (differs < 0 ? names.length : differs) * 100 - names.length;
}
