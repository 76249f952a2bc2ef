import type { ConfigKey } from "./config-key.ts";
import { isObject } from "../deep.ts";
import { quoteText } from "../layer.ts";
import { redactText } from "../redact.ts";

/** What a key takes, in words: for error messages and for the reference. */
export function wantedValue(key: ConfigKey): string {
  switch (key.type) {
    case "string":
      return "a text";
    case "path":
      return key.address === true ? "a path or an address" : "a path";
    case "url":
      return "an address that starts with http:// or https://";
    case "boolean":
      return ["true or false", ...(key.choices ?? []).map((choice) => `"${choice}"`)].join(", or ");
    case "timeZone":
      return "the name of a time zone, such as Europe/Amsterdam or UTC";
    case "integer":
      return `a whole number${between(key)}`;
    case "number":
      return `a number${between(key)}`;
    case "choice":
      return `one of ${(key.choices ?? []).map((choice) => `"${choice}"`).join(", ")}`;
    case "strings":
    case "globs":
      return "a list of texts, none of them blank";
    case "paths":
      return "a list of paths";
    case "map":
      return "an object that gives each name a text";
    case "extraPaths":
      return "a list of paths or of { path, pattern }";
    case "object":
      return "an object";
    case "same":
      return `the keys of ${key.same ?? ""}`;
  }
}

/** Whether a value, with its variables already replaced, is of the type and in the range of its key. */
export function isWanted(key: ConfigKey, value: unknown): boolean {
  switch (key.type) {
    case "string":
      return typeof value === "string";
    case "path":
      return isPath(value);
    case "url":
      return typeof value === "string" && /^https?:\/\//i.test(value) && URL.canParse(value);
    case "boolean":
      return typeof value === "boolean" || isChoice(key, value);
    case "timeZone":
      return isTimeZone(value);
    case "integer":
      return Number.isInteger(value) && isBetween(key, value);
    case "number":
      return Number.isFinite(value) && isBetween(key, value);
    case "choice":
      return isChoice(key, value);
    case "strings":
    case "globs":
      return Array.isArray(value) && value.every((item) => typeof item === "string" && item.trim() !== "");
    case "paths":
      return Array.isArray(value) && value.every(isPath);
    case "map":
      return isObject(value) && Object.values(value).every((item) => typeof item === "string");
    case "extraPaths":
      return Array.isArray(value) && value.every(isExtraPath);
    case "object":
      return isObject(value);
    case "same":
      return true;
  }
}

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

function isChoice({ choices }: ConfigKey, value: unknown): boolean {
  return choices?.some((choice) => choice === value) ?? false;
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

function isBetween({ range }: ConfigKey, value: unknown): boolean {
  if (typeof value !== "number") return false;
  return range === undefined || (value >= range[0] && value <= range[1]);
}
