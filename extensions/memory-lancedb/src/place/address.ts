import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { configError, type LanceOptions } from "../options.ts";

/** Where the index of one agent lies, as the options say it. Nothing has been opened yet. */
export type Address =
  | { kind: "folder"; folder: string }
  /** `uri` is that of the index: the first of its names below `root`. Has no slash at its end. */
  | { kind: "bucket"; scheme: BucketScheme; bucket: string; root: string; uri: string; names: readonly string[] }
  /** A name and a dot begin the name of each table. */
  | { kind: "cloud"; uri: string; names: readonly string[] };

type BucketScheme = "s3" | "gs" | "az";

const bucketSchemes: readonly string[] = ["s3", "gs", "az"] satisfies BucketScheme[];

/** Longer than one letter, which is a drive of Windows. */
const schemePattern = /^([a-z][a-z\d+.-]+):\/\/(.*)$/i;

/** What an index can be called by. */
export interface IndexNames {
  agentId: string;
  /** Names the index among those at the same place. Absent: the agent does. */
  name?: string | undefined;
  /** The same where several machines share the place. Absent: `name`. */
  sharedName?: string | undefined;
  /** The index itself, where the options name no place. Absent: a folder of that name below the state folder. */
  folder?: string | undefined;
  /** Where an index that has no other place is kept. */
  stateDir: string;
}

/** Ends the name of an index in a bucket: then LanceDB lists it, and one can be found beside others. */
export const folderEnding = ".lance";

/** Reads `dbPath`. Throws `CONFIG` naming the key and what to write. */
export function addressOf({ lance, ...names }: IndexNames & { lance: LanceOptions }): Address {
  const { agentId, name = agentId, sharedName, folder: own, stateDir } = names;
  const folder = agentFolder(name);
  const { dbPath } = lance;
  if (dbPath === undefined || dbPath.trim() === "")
    return { kind: "folder", folder: own ?? join(stateDir, "memory", "lancedb", folder) };
  const [, scheme, rest] = schemePattern.exec(dbPath.trim()) ?? [];
  if (scheme === undefined || rest === undefined)
    return { kind: "folder", folder: join(absoluteFolder(dbPath), folder) };
  const ending = scheme.toLowerCase() === "db" ? "" : folderEnding;
  const today = sharedName === undefined ? [] : [sharedName + ending, name + ending];
  return addressWithScheme(scheme.toLowerCase(), rest, [...new Set([...today, folder])]);
}

/** `own` are the names of the index, the one of today first. */
function addressWithScheme(scheme: string, rest: string, own: readonly string[]): Address {
  if (rest.includes("@"))
    throw configError("dbPath", "must hold no name and no password; write them into storageOptions");
  if (/[?#]/.test(rest)) throw configError("dbPath", 'must end before "?" or "#"; write settings into storageOptions');
  const [name = "", ...parts] = rest.split("/");
  if (scheme === "db") return cloudAddress(name, parts, own);
  if (scheme === "s3+ddb")
    throw configError(
      "dbPath",
      "must not begin with s3+ddb://: a lock table in DynamoDB is not needed any more, because S3 itself refuses to write a key twice; write s3:// in its place",
    );
  if (!isBucketScheme(scheme))
    throw configError(
      "dbPath",
      `begins with ${scheme}://, which is no place for an index; write the path of a folder, or an address that begins with s3://, gs://, az:// or db://`,
    );
  if (name === "")
    throw configError("dbPath", `names no bucket; write ${scheme}://bucket, or ${scheme}://bucket/prefix`);
  if (parts.some((part) => part === "." || part === ".."))
    throw configError("dbPath", 'must have no "." and no ".." between its slashes; write the prefix as it is');
  const root = [`${scheme}:/`, name, ...parts.filter((part) => part !== "")].join("/");
  return { kind: "bucket", scheme, bucket: name, root, uri: `${root}/${own[0]}`, names: own };
}

function cloudAddress(name: string, parts: readonly string[], names: readonly string[]): Address {
  if (name === "") throw configError("dbPath", "names no LanceDB Cloud project; write db://name");
  if (parts.some((part) => part !== ""))
    throw configError("dbPath", `must have nothing after the name of the project; write db://${name}`);
  return { kind: "cloud", uri: `db://${name}`, names };
}

function isBucketScheme(scheme: string): scheme is BucketScheme {
  return bucketSchemes.includes(scheme);
}

/** Where a plugin's options were written is not known here, so a relative path would mean another folder for each caller. */
function absoluteFolder(path: string): string {
  if (path === "~") return homedir();
  if (/^~[/\\]/.test(path)) return resolve(homedir(), path.slice(2));
  if (isAbsolute(path)) return resolve(path);
  throw configError(
    "dbPath",
    "is a relative path; write an absolute one, one that begins with ~/, or an address such as s3://bucket/prefix",
  );
}

/** The longest part that is taken over as it is; an agent id of the configuration has at most 64 characters. */
const maxLength = 96;

/**
 * The name of an agent as one part of a path, of an object's key and of a table's name. Ids of the configuration stay
 * what they are. Others are made safe and end with a mark of their own, so that no two agents get one name.
 */
export function agentFolder(agentId: string): string {
  // A dot at the end is dropped by Windows.
  if (/^\w(?:[\w.-]*[\w-])?$/.test(agentId) && agentId.length <= maxLength) return agentId;
  const mark = createHash("sha256").update(agentId).digest("hex").slice(0, 12);
  return `_${agentId.replaceAll(/[^\w-]/g, "_").slice(0, 64)}-${mark}`;
}
