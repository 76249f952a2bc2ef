import { closeSync, openSync, readSync, statSync } from "node:fs";
import { applicationId, schemaVersion } from "./schema.ts";

/** What stands at the path of an index, judged by its first bytes, before SQLite may touch it. */
export type FileFinding =
  | { kind: "new" }
  | { kind: "ours" }
  /** Cut off before the place where it says whose it is. */
  | { kind: "damaged"; reason: string }
  /** Somebody else's, or of a later version: not to be written, renamed, or opened for writing. */
  | { kind: "foreign"; reason: string };

const magic = Buffer.from("SQLite format 3\0", "latin1");
/** The header of a database file, as the file format of SQLite lays it out. */
const headerBytes = 100;
const userVersionAt = 60;
const applicationIdAt = 68;

/** Throws what the file system throws when the file is there and cannot be read. */
export function inspectFile(path: string): FileFinding {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return { kind: "new" };
  if (stats.isDirectory()) return { kind: "foreign", reason: "it is a folder" };
  // A pipe would never answer, a device is not a file to keep an index in.
  if (!stats.isFile()) return { kind: "foreign", reason: "it is not a regular file" };
  if (stats.size === 0) return { kind: "new" };

  const header = readHeader(path);
  if (!header.subarray(0, magic.length).equals(magic.subarray(0, header.length))) {
    return { kind: "foreign", reason: "it is not a SQLite database" };
  }
  if (header.length < headerBytes) return { kind: "damaged", reason: `it ends after ${header.length} bytes` };
  if (header.readInt32BE(applicationIdAt) !== applicationId) {
    return { kind: "foreign", reason: "it is a SQLite database of another program" };
  }
  const version = header.readInt32BE(userVersionAt);
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
function readHeader(path: string): Buffer {
  const header = Buffer.alloc(headerBytes);
  const descriptor = openSync(path, "r");
  try {
    return header.subarray(0, readSync(descriptor, header, 0, headerBytes, 0));
  } finally {
    closeSync(descriptor);
  }
}
