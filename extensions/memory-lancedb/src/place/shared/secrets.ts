import type { LanceOptions } from "../../options.ts";

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
