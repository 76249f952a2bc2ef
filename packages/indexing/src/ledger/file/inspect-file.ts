import { closeSync, openSync, readSync, statSync } from "node:fs";
import { Damage, Foreign } from "./store-errors.ts";
import { applicationId, pageBytes, schemaVersion } from "./schema.ts";

const magic = Buffer.from("SQLite format 3\0", "latin1");
const headerBytes = 100;
const userVersionAt = 60;
const applicationIdAt = 68;
const mostLaterVersions = 1000;
const pageSizeAt = 16;
const fractionsAt = 21;
const fractions = Buffer.from([64, 32, 32]);
/** Table names that no other program uses. */
const ourTables = ["spaces", "quarantine"];

/** Judges a file by its first bytes. Throws `Foreign`, `Damage`, and file system errors. */
export function inspectFile(path: string, isOwnPlace: boolean): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) throw new Foreign("it is a folder");
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

export function laterVersion(version: number): string {
  return `it was written by a later release (schema ${version}, this one knows ${schemaVersion})`;
}

/** Closing the descriptor drops the POSIX locks of this process on the file. SQLite 3.51 and later handle that. */
function readBeginning(path: string): Buffer {
  const beginning = Buffer.alloc(pageBytes);
  const descriptor = openSync(path, "r");
  try {
    return beginning.subarray(0, readSync(descriptor, beginning, 0, pageBytes, 0));
  } finally {
    closeSync(descriptor);
  }
}

/** Table names are in the first page, surrounded by zeros; a text may quote them. */
function holdsOurTables(beginning: Buffer): boolean {
  return beginning.includes(0) && ourTables.every((table) => beginning.includes(`CREATE TABLE ${table} (`));
}

/** Checks the constant fields of the header. */
function isSound(header: Buffer): boolean {
  const size = header.readUInt16BE(pageSizeAt);
  const isPageSize = size === 1 || (size >= 512 && (size & (size - 1)) === 0);
  return isPageSize && header.subarray(fractionsAt, fractionsAt + fractions.length).equals(fractions);
}
