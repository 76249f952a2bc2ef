import type { ConfigKey } from "./keys.ts";

/** One value as it was found, with where it stands and where it came from. */
export interface FoundValue {
  readonly key: ConfigKey;
  /** The name that stands for `*` in the key. */
  readonly name: string | undefined;
  /** The key as it was written, for messages: `agents.list[work].workspace`. */
  readonly written: string;
  readonly value: unknown;
  /** `env NAME`, `option --NAME`, or a file. */
  readonly origin: string;
}

/** Values by their key, with the name that stands for `*`. An agent's own ones have the keys of the defaults. */
export type FoundValues = Map<string, FoundValue>;

/** What one file, or one object given by a program, says. */
export interface ConfigLayer {
  /** The file, or words that stand for it: how every message about it begins, and the origin of its values. */
  readonly label: string;
  /** Relative paths start here. */
  readonly baseDir: string;
  readonly values: FoundValues;
  /** The own values of each agent by its id, in the order in which they were found. */
  readonly agents: Map<string, FoundValues>;
  readonly notices: string[];
}

/** Replaces each value of a layer, those of agents too; undefined takes it out. */
export function changeValues(layer: ConfigLayer, change: (found: FoundValue) => FoundValue | undefined): void {
  for (const values of [layer.values, ...layer.agents.values()])
    for (const [at, found] of values) {
      const changed = change(found);
      if (changed === undefined) values.delete(at);
      else values.set(at, changed);
    }
}

/** Every value of a layer, those of agents too. */
export function allValues({ values, agents }: ConfigLayer): FoundValue[] {
  return [values, ...agents.values()].flatMap((found) => [...found.values()]);
}

/** The texts of a list; none where the key is not given. */
export function textsAt(values: FoundValues, key: string): readonly string[] {
  const value = values.get(key)?.value;
  return Array.isArray(value) ? value.map(String) : [];
}

/** The key under which a value is kept, with the name that stands for `*`. */
export function lookupKey(key: ConfigKey, name: string | undefined): string {
  // The whole name, however long: two that begin alike are two keys.
  return name === undefined ? key.key : key.key.replace("*", () => JSON.stringify(name));
}

/** A key for people, with the name that stands for `*`. */
export function shownKey(key: ConfigKey, name: string | undefined): string {
  return name === undefined ? key.key : key.key.replace("*", () => quoteName(name));
}

/** A name as one part of a dotted key: quoted where it is long, or more than letters, digits, `_`, `$` and `-`. */
export function quoteName(name: string): string {
  return /^[\w$-]{1,80}$/.test(name) ? name : quoteText(name);
}

/** Text in quotes for a message: no control characters, and not longer than a line can bear. */
export function quoteText(text: string): string {
  const short = text.length > 80 ? `${text.slice(0, 80).toWellFormed()}…` : text;
  return JSON.stringify(short).replaceAll(
    /\p{C}/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
