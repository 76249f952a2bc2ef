import type { LanceOptions } from "../../options.ts";
import { configError } from "../option-errors.ts";

/**
 * How long LanceDB waits for an object storage. By itself it goes on for minutes. Its own throttle tries everything
 * three times more, and lets one request a second through after an outage, so it is off: the client underneath slows
 * down by itself where a storage asks for it. Every one of these can be set to something else in `storageOptions`.
 */
const patience: Readonly<Record<string, string>> = {
  connect_timeout: "3s",
  timeout: "15s",
  client_max_retries: "3",
  client_retry_timeout: "5",
  lance_aimd_max_retries: "0",
};

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
