import { closeSync, openSync, readSync, statSync } from "node:fs";
import { applicationId, pageBytes, schemaVersion } from "./schema.ts";

/** What stands at the path of an index, judged by its first bytes, before SQLite may touch it. */
export type FileFinding =
  | { kind: "new" }
  | { kind: "ours" }
  /** Cut off before the place where it says whose it is, or ours with another beginning. */
  | { kind: "damaged"; reason: string }
  /** Somebody else's, or of a later version: not to be written, renamed, or opened for writing. */
  | { kind: "foreign"; reason: string };

const magic = Buffer.from("SQLite format 3\0", "latin1");
/** The header of a database file, as the file format of SQLite lays it out. */
const headerBytes = 100;
const userVersionAt = 60;
const applicationIdAt = 68;
/** No release is so much later than this one. */
const mostLaterVersions = 1000;
const pageSizeAt = 16;
const fractionsAt = 21;
const fractions = Buffer.from([64, 32, 32]);
/** Those that no other program with the tables of the field has. */
const ourTables = ["spaces", "quarantine"];

/**
 * Throws what the file system throws when the file is there and cannot be read. `isOwnPlace`: nobody else has a reason to
 * put a file there, so that one which is no database at all is ours and damaged.
 */
export function inspectFile(path: string, { isOwnPlace = false }: { isOwnPlace?: boolean } = {}): FileFinding {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return { kind: "new" };
  if (stats.isDirectory()) return { kind: "foreign", reason: "it is a folder" };
  // A pipe would never answer, a device is not a file to keep an index in.
  if (!stats.isFile()) return { kind: "foreign", reason: "it is not a regular file" };
  if (stats.size === 0) return { kind: "new" };

  const beginning = readBeginning(path);
  const header = beginning.subarray(0, headerBytes);
  const isDatabase = header.subarray(0, magic.length).equals(magic.subarray(0, header.length));
  if (isDatabase && header.length < headerBytes)
    return { kind: "damaged", reason: `it ends after ${header.length} bytes` };
  if (!isDatabase || header.readInt32BE(applicationIdAt) !== applicationId) {
    const spoilt = { kind: "damaged", reason: "its first bytes were overwritten" } as const;
    if (holdsOurTables(beginning) || (isOwnPlace && !(isDatabase && isSound(header)))) return spoilt;
    const what = isDatabase ? "a SQLite database of another program" : "not a SQLite database";
    return { kind: "foreign", reason: `it is ${what}` };
  }
  const version = header.readInt32BE(userVersionAt);
  if (isOwnPlace && version > schemaVersion + mostLaterVersions)
    return { kind: "damaged", reason: `its schema has the number ${version}` };
  if (version > schemaVersion) return { kind: "foreign", reason: laterVersion(version) };
  return { kind: "ours" };
}

/** Why a database that a later release has written is left alone. */
export function laterVersion(version: number): string {
  return `it was written by a later release (schema ${version}, this one knows ${schemaVersion})`;
}

/**
 * Closing the descriptor drops the POSIX locks that this process has on the file, should it be open in another store
 * here. SQLite knows of that since 3.51 and does not take the log away from under the other one.
 */
function readBeginning(path: string): Buffer {
  const beginning = Buffer.alloc(pageBytes);
  const descriptor = openSync(path, "r");
  try {
    return beginning.subarray(0, readSync(descriptor, beginning, 0, pageBytes, 0));
  } finally {
    closeSync(descriptor);
  }
}

/** The names of our tables stand in the first page. A text may quote them; a page has zeros between its parts. */
function holdsOurTables(beginning: Buffer): boolean {
  return beginning.includes(0) && ourTables.every((table) => beginning.includes(`CREATE TABLE ${table} (`));
}

/** What is the same in the header of every database. Other programs have such a file in a state folder that we share. */
function isSound(header: Buffer): boolean {
  const size = header.readUInt16BE(pageSizeAt);
  const isPageSize = size === 1 || (size >= 512 && (size & (size - 1)) === 0);
  return isPageSize && header.subarray(fractionsAt, fractionsAt + fractions.length).equals(fractions);
}
