import settings from "../../data/settings.json" with { type: "json" };
import { configError, type LanceOptions } from "../../options.ts";

/**
 * How long LanceDB waits for an object storage. By itself it goes on for minutes. Its own throttle tries everything
 * three times more, and lets one request a second through after an outage, so it is off: the client underneath slows
 * down by itself where a storage asks for it. Every one of these can be set to something else in `storageOptions`.
 */
const patience: Readonly<Record<string, string>> = settings.patience;

/** What LanceDB is told about an object storage. Throws `CONFIG` naming a value that is no text. */
export function storageOptionsOf({ storageOptions = {} }: LanceOptions): Record<string, string> {
  const given = Object.entries(storageOptions).map(([name, value]): [string, string] => {
    if (typeof value !== "string")
      throw configError(`storageOptions.${name}`, "must be a text; put quotation marks around it");
    return [inSnakeCase(name), value];
  });
  return { ...patience, ...Object.fromEntries(given) };
}

/** `accessKeyId`, `ACCESS_KEY_ID` and `access_key_id` are the same. */
function inSnakeCase(name: string): string {
  if (name === name.toUpperCase()) return name.toLowerCase();
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const secretName = /key|secret|token|sas|signature|password|credential|account|auth|bearer/i;
const shown = "(set)";

/** Key ids of AWS, which a storage repeats in its errors wherever they were set. */
const keyId = /\b(?:AKIA|ASIA)[A-Z\d]{12,}\b/g;

/** Takes the keys of these options out of a text, and what stands behind a `?` or before an `@` in an address. */
export type Redact = (text: string) => string;

export function createRedact({ storageOptions = {}, apiKey }: LanceOptions): Redact {
  const secrets = Object.entries(storageOptions)
    .filter(([name, value]) => secretName.test(name) && typeof value === "string" && value.length > 3)
    .map(([, value]) => value);
  if (apiKey !== undefined && apiKey !== "") secrets.push(apiKey);
  // A longer one first: it may hold a shorter one.
  const ordered = secrets.toSorted((a, b) => b.length - a.length);
  return (text) => {
    let result = text;
    for (const secret of ordered)
      result = result.replaceAll(secret, shown).replaceAll(encodeURIComponent(secret), shown);
    return result
      .replaceAll(keyId, shown)
      .replaceAll(/([a-z][a-z\d+.-]*:\/\/)[^\s/?#@]*@/gi, `$1${shown}@`)
      .replaceAll(/([a-z][a-z\d+.-]*:\/\/[^\s?#"'<>]*)\?[^\s"'<>]*/gi, "$1");
  };
}
