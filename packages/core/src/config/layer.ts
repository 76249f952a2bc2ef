import type { ConfigKey } from "./keys/config-key.ts";

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

/** Values by key. Inside an agent the keys are relative: `memorySearch.query.maxResults`. */
export type FoundValues = Map<string, FoundValue>;

/** The texts of a list; none where the key is not given. */
export function textsAt(values: FoundValues, key: string): readonly string[] {
  const value = values.get(key)?.value;
  return Array.isArray(value) ? value.map(String) : [];
}

/** What one file, or one object given by a program, says. */
export interface ConfigLayer {
  /** The file, or words that stand for it: how every message about it begins, and the origin of its values. */
  readonly label: string;
  /** Relative paths start here. */
  readonly baseDir: string;
  readonly values: FoundValues;
  /** By id, in the order in which they were found. */
  readonly agents: Map<string, FoundValues>;
  readonly notices: string[];
}

const agentPrefix = /^agents\.(?:defaults|list\[\])\./;

/** The key by which a value is looked up, with the name that stands for `*`, and relative inside an agent. */
export function lookupKey(key: ConfigKey, name: string | undefined, inAgent: boolean): string {
  // The whole name, however long: two that begin alike are two keys.
  const full = name === undefined ? key.key : key.key.replace("*", () => JSON.stringify(name));
  return inAgent ? full.replace(agentPrefix, "") : full;
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
