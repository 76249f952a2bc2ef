import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { MemoryError } from "@memslot/core";
import refused from "../data/refused-addresses.json" with { type: "json" };
import settings from "../data/settings.json" with { type: "json" };

/** The configuration of the plugin: `plugins.entries.memory-lancedb.config`. */
export interface LanceOptions {
  /** A folder (absolute, or starting with `~/`), `s3://`, `gs://`, `az://` or `db://`. Absent: a folder below the state folder. */
  dbPath?: string | undefined;
  /** Storage options of LanceDB for the bucket. */
  storageOptions?: Readonly<Record<string, string>> | undefined;
  apiKey?: string | undefined;
  region?: string | undefined;
  hostOverride?: string | undefined;
}

export function optionKey(key: string): string {
  return `plugins.entries.memory-lancedb.config.${key}`;
}

/** A `CONFIG` error about one option. `what` follows its name. Never pass a value: it may be a secret. */
export function configError(key: string, what: string): MemoryError {
  return new MemoryError("CONFIG", `${optionKey(key)} ${what}`);
}

export type Address =
  | { kind: "folder"; folder: string }
  /** The index is the prefix `name` below `root`. */
  | { kind: "bucket"; root: string; name: string }
  | { kind: "cloud"; uri: string; name: string };

const refusals = refused as [pattern: string, message: string][];
const schemePattern = /^([a-z][a-z\d+.-]+):\/\/(.*)$/i;
/** Ends the name of an index in a bucket, so that LanceDB lists it as a table of `root`. */
export const indexEnding = ".lance";

export interface IndexNames {
  agentId: string;
  name?: string | undefined;
  sharedName?: string | undefined;
  folder?: string | undefined;
  stateDir: string;
}

/** Reads `dbPath`. Throws `CONFIG`, which names the option and what to write. */
export function addressOf({ lance, ...names }: IndexNames & { lance: LanceOptions }): Address {
  const { agentId, name = agentId, sharedName, stateDir } = names;
  const folder = agentFolder(name);
  const dbPath = lance.dbPath?.trim() ?? "";
  if (dbPath === "") return { kind: "folder", folder: names.folder ?? join(stateDir, "memory", "lancedb", folder) };
  const [, scheme, rest = ""] = schemePattern.exec(dbPath) ?? [];
  if (scheme === undefined) return { kind: "folder", folder: join(absoluteFolder(dbPath), folder) };
  return remoteAddress(scheme.toLowerCase(), rest, (ending) => (sharedName ? sharedName + ending : folder));
}

function remoteAddress(scheme: string, rest: string, nameWith: (ending: string) => string): Address {
  const [place = "", ...parts] = rest.split("/");
  const [, message] = refusals.find(([pattern]) => new RegExp(pattern).test(`${scheme}://${rest}`)) ?? [];
  if (message !== undefined)
    throw configError("dbPath", message.replaceAll("{scheme}", scheme).replaceAll("{place}", place));
  if (scheme === "db") return { kind: "cloud", uri: `db://${place}`, name: nameWith("") };
  const root = [`${scheme}:/`, place, ...parts.filter((part) => part !== "")].join("/");
  return { kind: "bucket", root, name: nameWith(indexEnding) };
}

/** Relative paths are refused: the file that holds the option is not known here, so they would depend on the caller. */
function absoluteFolder(path: string): string {
  if (path === "~") return homedir();
  if (/^~[/\\]/.test(path)) return resolve(homedir(), path.slice(2));
  if (isAbsolute(path)) return resolve(path);
  throw configError(
    "dbPath",
    "is a relative path; write an absolute one, one that begins with ~/, or an address such as s3://bucket/prefix",
  );
}

const maxLength = 96;

/** An agent's name as part of paths, keys and table names. Unsafe ids end with a hash, so that none collide. */
export function agentFolder(agentId: string): string {
  // Windows drops a dot at the end.
  if (/^\w(?:[\w.-]*[\w-])?$/.test(agentId) && agentId.length <= maxLength) return agentId;
  const mark = createHash("sha256").update(agentId).digest("hex").slice(0, 12);
  return `_${agentId.replaceAll(/[^\w-]/g, "_").slice(0, 64)}-${mark}`;
}

/** Storage options for LanceDB in snake case: the defaults and those of the user. Throws `CONFIG` for a non-string. */
export function storageOptionsOf({ storageOptions = {} }: LanceOptions): Record<string, string> {
  const given = Object.entries(storageOptions).map(([name, value]): [string, string] => {
    if (typeof value !== "string")
      throw configError(`storageOptions.${name}`, "must be a text; put quotation marks around it");
    const isUpper = name === name.toUpperCase();
    return [isUpper ? name.toLowerCase() : name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value];
  });
  return { ...settings.patience, ...Object.fromEntries(given) };
}

export function originOf(address = ""): string | undefined {
  return URL.canParse(address) ? new URL(address).origin : undefined;
}
