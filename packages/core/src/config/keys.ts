import rows from "./keys.json" with { type: "json" };
import { nearestWord } from "../text/nearest-word.ts";
import { isObject } from "./plain-data.ts";
import { quoteText } from "./agent-ids.ts";
import { isAddress } from "./paths.ts";

/** One key of the configuration. Everything that is known about a key is in its row of `keys.json` and nowhere else. */
export interface ConfigKey {
  /** Dotted; `*` stands for any name and `[]` for the items of a list. */
  readonly key: string;
  readonly type: string;
  /** Absent if there is none. `{stateDir}` and `{agentId}` are replaced when it is used. */
  readonly default?: unknown;
  readonly doc: string;
  /** The least and the greatest value. */
  readonly range?: readonly number[];
  /** All values of type `choice`; further values of type `boolean`. */
  readonly choices?: readonly string[];
  /** Never printed. */
  readonly secret?: boolean;
  /** Allowed in an untrusted file: only keys that tune search, never access, places, costs or security. */
  readonly harmless?: boolean;
  /** A path that may also be an address such as `hf:user/model`. */
  readonly address?: boolean;
  readonly same?: string;
  /** `memslot init` writes it, as a comment with its default. */
  readonly common?: boolean;
}

/**
 * The table of keys: checks, defaults, origins, redaction, trust, the reference, `memslot init`, and (by `pnpm
 * generate`) the settings types. A new key is one row.
 */
export const configKeys: readonly ConfigKey[] = rows;

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

function closeness(place: string, group: string): number {
  const names = place.split(".");
  const groupNames = group.split(".");
  const differs = names.findIndex((name, index) => name !== groupNames[index]);
  return (differs < 0 ? names.length : differs) * 100 - names.length;
}

export interface ValueType {
  /** What a key takes, in words: for error messages and for the reference. */
  wanted(key: ConfigKey): string;
  accepts(value: unknown, key: ConfigKey): boolean;
  withAbsolutePaths?(value: unknown, absolute: (path: string) => string, key: ConfigKey): unknown;
  globsIn?(value: unknown): string[];
}

const text: ValueType = { wanted: () => "a text", accepts: (value) => typeof value === "string" };

const texts: ValueType = {
  wanted: () => "a list of texts, none of them blank",
  accepts: (value) => isListOf(value, (item) => typeof item === "string" && item.trim() !== ""),
};

const valueTypes: Readonly<Record<string, ValueType>> = {
  string: text,
  path: {
    wanted: ({ address }) => (address === true ? "a path or an address" : "a path"),
    accepts: isPath,
    withAbsolutePaths: (path, absolute, { address }) =>
      address === true && isAddress(String(path)) ? path : absolute(String(path)),
  },
  url: {
    wanted: () => "an address that starts with http:// or https://",
    accepts: (value) => typeof value === "string" && /^https?:\/\//i.test(value) && URL.canParse(value),
  },
  boolean: {
    wanted: ({ choices = [] }) => ["true or false", ...choices.map((choice) => `"${choice}"`)].join(", or "),
    accepts: (value, key) => typeof value === "boolean" || isChoice(value, key),
  },
  timeZone: {
    wanted: () => "the name of a time zone, such as Europe/Amsterdam or UTC",
    accepts: isTimeZone,
  },
  integer: {
    wanted: (key) => `a whole number${between(key)}`,
    accepts: (value, key) => Number.isInteger(value) && isBetween(value, key),
  },
  number: {
    wanted: (key) => `a number${between(key)}`,
    accepts: (value, key) => Number.isFinite(value) && isBetween(value, key),
  },
  choice: {
    wanted: ({ choices = [] }) => `one of ${choices.map((choice) => `"${choice}"`).join(", ")}`,
    accepts: isChoice,
  },
  strings: texts,
  globs: { ...texts, globsIn: (value) => itemsOf(value).map(String) },
  paths: {
    wanted: () => "a list of paths",
    accepts: (value) => isListOf(value, isPath),
    withAbsolutePaths: (value, absolute) => itemsOf(value).map((path) => absolute(String(path))),
  },
  map: {
    wanted: () => "an object that gives each name a text",
    accepts: (value) => isObject(value) && Object.values(value).every((item) => typeof item === "string"),
  },
  extraPaths: {
    wanted: () => "a list of paths or of { path, pattern }",
    accepts: (value) => isListOf(value, isExtraPath),
    withAbsolutePaths: (value, absolute) =>
      itemsOf(value).map((item) =>
        isObject(item) ? { ...item, path: absolute(String(item["path"])) } : absolute(String(item)),
      ),
    globsIn: (value) =>
      itemsOf(value).flatMap((item) => (isObject(item) && "pattern" in item ? [String(item["pattern"])] : [])),
  },
  object: { wanted: () => "an object", accepts: isObject },
  same: { wanted: ({ same = "" }) => `the keys of ${same}`, accepts: () => true },
};

export function valueTypeOf({ key, type }: ConfigKey): ValueType {
  const found = valueTypes[type];
  if (found === undefined) throw new TypeError(`${key} has the unknown type "${type}"`);
  return found;
}

/** Formats a wrong value for a message. Of a secret or a long value only the kind is shown. */
export function shownValue(key: ConfigKey, value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  if (typeof value === "string") return key.secret === true ? "a text" : `the text ${quoteText(redactText(value))}`;
  if (typeof value === "number") return key.secret === true ? "a number" : `the number ${value}`;
  if (typeof value === "boolean") return String(value);
  return `a ${typeof value}`;
}

function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isListOf(value: unknown, accepts: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(accepts);
}

function isChoice(value: unknown, { choices = [] }: ConfigKey): boolean {
  return choices.some((choice) => choice === value);
}

function isPath(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "" && !value.includes("\0");
}

function isTimeZone(value: unknown): boolean {
  if (typeof value !== "string" || value.trim() === "") return false;
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: value }) instanceof Intl.DateTimeFormat;
  } catch {
    return false;
  }
}

function isExtraPath(value: unknown): boolean {
  if (!isObject(value)) return isPath(value);
  const pattern = value["pattern"];
  return isPath(value["path"]) && (pattern === undefined || isPath(pattern));
}

function between({ range }: ConfigKey): string {
  return range === undefined ? "" : ` from ${range.join(" to ")}`;
}

function isBetween(value: unknown, { range: [least = -Infinity, most = Infinity] = [] }: ConfigKey): boolean {
  return Number(value) >= least && Number(value) <= most;
}

const hidden = "(set)";

const keyLike =
  /\b(?:sk|pk|rk|jina|voyage|pa)-[\w-]{6,}|\b(?:gh[a-z]|github_pat|xox[a-z]|hf)[_-][\w-]{6,}|\bAIza[\w-]{10,}|\bAKIA\w{10,}|\bBearer\s+\S+/g;
const secretName = /key|token|secret|password|passwd|credential|auth|cookie/i;

/** Replaces secrets by `(set)`. */
export function redactValue(key: ConfigKey, value: unknown): unknown {
  if (value === undefined) return undefined;
  if (key.secret === true)
    return isObject(value) ? Object.fromEntries(Object.keys(value).map((name) => [name, hidden])) : hidden;
  if (key.type === "path" || key.type === "paths" || key.type === "extraPaths") return value;
  if (key.type === "url" && typeof value === "string") return redactAddress(value);
  return redactDeep(value);
}

export function redactText(text: string): string {
  return redactAddress(text.replaceAll(keyLike, hidden));
}

function redactDeep(value: unknown): unknown {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map(redactDeep);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      secretName.test(name) && typeof inner !== "boolean" ? hidden : redactDeep(inner),
    ]),
  );
}

function redactAddress(text: string): string {
  return text
    .replace(/^([a-z][a-z\d+.-]*:\/\/)[^/?#]*@/i, `$1${hidden}@`)
    .replace(/^([a-z][a-z\d+.-]*:\/\/[^?#]*)\?.*$/i, `$1?${hidden}`);
}

export interface ConfigReferenceRow {
  key: string;
  type: string;
  default: string;
  doc: string;
  isCommon: boolean;
}

export function configReference(): ConfigReferenceRow[] {
  return configKeys.map((key) => ({
    key: key.key,
    type: valueTypeOf(key).wanted(key),
    default: writtenDefault(key),
    doc: key.doc,
    isCommon: key.common === true,
  }));
}

function writtenDefault(key: ConfigKey): string {
  if (key.default === undefined) return "";
  const text = typeof key.default === "string" ? key.default.replace("{stateDir}", "~/.memslot") : key.default;
  return JSON.stringify(text);
}
