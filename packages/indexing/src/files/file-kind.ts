import { type BigIntStats, constants, lstatSync, realpathSync, type StatsBase } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { messageOf } from "@memslot/core";
import { codeOf, noSurprises } from "@memslot/core/files";

export const notDownloaded = "is in iCloud and not downloaded: download it (in Finder: Download Now)";
export const linkReason = "is a symbolic link, which is not followed";

/** Opening a path that turned into a link since it was looked at fails, where the platform can say so. */
export const openForReading: number = constants.O_RDONLY | noSurprises;

/** Runs work with a file that is open for reading, and closes it. Throws what opening it throws. */
export async function withFile<Result>(file: string, work: (handle: FileHandle) => Promise<Result>): Promise<Result> {
  const handle = await open(file, openForReading);
  try {
    return await work(handle);
  } finally {
    await handle.close();
  }
}

/** Looks at what is there, without following a link. Exact: the number of a file may be too large for a JavaScript number. */
export function statOf(absolutePath: string): BigIntStats | Error {
  try {
    return lstatSync(absolutePath, { bigint: true });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** What something is that is no regular file. */
export function kindOf(stats: StatsBase<number | bigint>): string {
  if (stats.isSymbolicLink()) return linkReason;
  if (stats.isDirectory()) return "is a folder, not a file";
  if (stats.isFIFO()) return "is a named pipe, not a file";
  if (stats.isSocket()) return "is a socket, not a file";
  if (stats.isBlockDevice() || stats.isCharacterDevice()) return "is a device, not a file";
  return "is not a file";
}

/** What to do about a link that stands where memory may stand. */
export function adviceForLink(link: string): string {
  try {
    return `name the real path instead, ${realpathSync.native(link)}`;
  } catch (error) {
    return `it leads nowhere (${messageOf(error)})`;
  }
}

/** What to do where the process has no file descriptor left; undefined for any other failure. */
export function outOfDescriptors(error: unknown): string | undefined {
  const code = codeOf(error);
  if (code !== "EMFILE" && code !== "ENFILE") return undefined;
  return "too many open files: raise the limit (`ulimit -n`) and sync again";
}
