import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { access, lstat, mkdir, readFile, readlink, realpath, rm, rmdir, stat } from "node:fs/promises";
import path from "node:path";
import { MemoryError, messageOf } from "@memslot/core";
import { codeOf, replaceFile } from "@memslot/core/files";
import { UnusableFile } from "./text-edit.ts";

export interface TargetFile {
  /** The path with links followed, so that a link stays a link. */
  readonly target: string;
  /** Undefined if there is no file. */
  readonly text: string | undefined;
  readonly mode: number;
}

const usualMode = 0o600;
const maxBytes = 64 * 1024 * 1024;
const maxLinks = 20;

/** Reads a file for editing. Throws `UnusableFile` if it is read-only, no regular file or not UTF-8. */
export async function readTarget(file: string): Promise<TargetFile> {
  const target = await followed(file);
  try {
    const stats = await stat(target);
    if (!stats.isFile()) throw new UnusableFile("it is not a file");
    if (stats.size > maxBytes) throw new UnusableFile(`it is larger than ${maxBytes / 1024 / 1024} MiB`);
    // Replacing the file would work even if its owner has made it read-only.
    if ((stats.mode & 0o222) === 0) throw new UnusableFile("it is read-only");
    await access(target, constants.W_OK).catch(() => {
      throw new UnusableFile("you may not write it");
    });
    return { target, text: decoded(await readFile(target)), mode: stats.mode & 0o777 };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { target, text: undefined, mode: usualMode };
    if (error instanceof UnusableFile) throw error;
    throw new UnusableFile(`it cannot be read: ${messageOf(error)}`);
  }
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UnusableFile("it is not UTF-8");
  }
}

/** The path with links followed, also if their target does not exist yet. */
async function followed(file: string): Promise<string> {
  let place = path.resolve(file);
  for (let links = 0; links < maxLinks; links++) {
    const stats = await lstat(place).catch(() => undefined);
    if (stats?.isSymbolicLink() !== true) return await realpath(place).catch(() => place);
    // The folder may be a link itself: a relative link starts at its target.
    place = path.resolve(await realpath(path.dirname(place)), await readlink(place));
  }
  throw new UnusableFile("its links lead in a circle");
}

/** Writes or (`undefined`) deletes a file. Returns created folders. Throws `BUSY` if it changed, `UNAVAILABLE`. */
export async function writeTarget(
  { target, text: before, mode }: TargetFile,
  text: string | undefined,
): Promise<string[]> {
  const now = await readTarget(target);
  if (now.text !== before)
    throw new MemoryError("BUSY", `${target} was changed by another program in the meantime; run the command again`);
  try {
    if (text === undefined) {
      await rm(target, { force: true });
      return [];
    }
    const made = await missingFolders(path.dirname(target));
    await mkdir(path.dirname(target), { recursive: true });
    await replaceFile(target, text, { mode });
    return made;
  } catch (error) {
    throw new MemoryError("UNAVAILABLE", `${target} cannot be written: ${messageOf(error)}`, { cause: error });
  }
}

async function missingFolders(folder: string): Promise<string[]> {
  const missing: string[] = [];
  for (let place = folder; place !== path.dirname(place); place = path.dirname(place)) {
    if ((await stat(place).catch(() => undefined)) !== undefined) return missing;
    missing.push(place);
  }
  return missing;
}

export async function removeFolders(folders: readonly string[]): Promise<void> {
  for (const folder of folders.toSorted((a, b) => b.length - a.length)) {
    try {
      await rmdir(folder);
    } catch {
      // Another program has files in it.
    }
  }
}

export function sha256Of(text: string | undefined): string {
  return text === undefined ? "absent" : createHash("sha256").update(text).digest("hex");
}
