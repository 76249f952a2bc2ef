import { quoteText } from "./layer.ts";
import { isObject } from "./deep.ts";
import type { ConfigKey, KeyType } from "./keys.ts";
import { isAddress } from "./paths.ts";
import { redactText } from "./redact.ts";

/** What is known of the values of one type. Values have their variables replaced already. */
interface ValueType {
  /** What a key takes, in words: for error messages and for the reference. */
  wanted(key: ConfigKey): string;
  /** Whether a value is of the type and in the range of its key. */
  accepts(value: unknown, key: ConfigKey): boolean;
  /** An accepted value with every path made absolute. */
  withAbsolutePaths?(value: unknown, absolute: (path: string) => string, key: ConfigKey): unknown;
  /** The globs in an accepted value. */
  globsIn?(value: unknown): string[];
}

const text: ValueType = { wanted: () => "a text", accepts: (value) => typeof value === "string" };

const texts: ValueType = {
  wanted: () => "a list of texts, none of them blank",
  accepts: (value) => isListOf(value, (item) => typeof item === "string" && item.trim() !== ""),
};

/** A new type of value is one row here, and one in the generator of the types of the settings. */
export const valueTypes: Readonly<Record<KeyType, ValueType>> = {
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

/** A wrong value for a message. Of a secret, and of anything long, only the kind is told. */
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
  return range === undefined ? "" : ` from ${range[0]} to ${range[1]}`;
}

function isBetween(value: unknown, { range }: ConfigKey): boolean {
  return typeof value === "number" && (range === undefined || (value >= range[0] && value <= range[1]));
}
