import { closeSync, openSync, readSync, statSync } from "node:fs";
import { Damage, Foreign } from "./store-errors.ts";
import { applicationId, pageBytes, schemaVersion } from "./schema.ts";

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
 * Judges a file by its first bytes, before SQLite may touch it. Throws `Foreign` where it is another program's or of a later
 * release: it is not to be written, renamed, or opened for writing. Throws `Damage` where it is cut off before the place
 * that says whose it is, or is ours with another beginning, and what the file system throws if it cannot be read.
 * `isOwnPlace`: nobody else has a reason to put a file there, so that one which is no database at all is ours and damaged.
 */
export function inspectFile(path: string, isOwnPlace: boolean): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) throw new Foreign("it is a folder");
  // A pipe would never answer, a device is not a file to keep an index in.
  if (stats?.isFile() === false) throw new Foreign("it is not a regular file");
  if (stats === undefined || stats.size === 0) return;

  const beginning = readBeginning(path);
  const header = beginning.subarray(0, headerBytes);
  const isDatabase = header.subarray(0, magic.length).equals(magic.subarray(0, header.length));
  if (isDatabase && header.length < headerBytes) throw new Damage(`it ends after ${header.length} bytes`);
  if (!isDatabase || header.readInt32BE(applicationIdAt) !== applicationId) {
    if (holdsOurTables(beginning) || (isOwnPlace && !(isDatabase && isSound(header))))
      throw new Damage("its first bytes were overwritten");
    throw new Foreign(`it is ${isDatabase ? "a SQLite database of another program" : "not a SQLite database"}`);
  }
  const version = header.readInt32BE(userVersionAt);
  if (isOwnPlace && version > schemaVersion + mostLaterVersions)
    throw new Damage(`its schema has the number ${version}`);
  if (version > schemaVersion) throw new Foreign(laterVersion(version));
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
