import {
  type BigIntStats,
  type Dirent,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
} from "node:fs";
import { type FileHandle, link, mkdir, open, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf } from "./error-code.ts";

/** A path may become a link between two calls, so open first and then check the location (Linux: `/proc`). */

/** Never opens a link, where the platform supports that, and never blocks on a pipe. */
export const noFollow: number = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const asPlaceOnly = 0o10_000_000;
const maxAttempts = 3;

/** What was opened is not what the path names. */
export class MovedError extends Error {
  readonly code = "EMOVED";

  constructor(path: string) {
    super(`${path} was moved, or a link came into its way, while it was opened`);
    this.name = "MovedError";
  }
}

/** The file that iCloud keeps instead of one that is not downloaded: `.NAME.icloud`. */
export function cloudStub(path: string): string {
  return join(dirname(path), `.${basename(path)}.icloud`);
}

/** A file that iCloud has not downloaded: creating it would make a duplicate. */
export class NotDownloadedError extends Error {
  readonly code = "ECLOUD";

  constructor(path: string) {
    super(`${path} is in iCloud and not downloaded`);
    this.name = "NotDownloadedError";
  }
}

/** Opens the file at a canonical path, never through a link. Throws system errors, and `MovedError`. */
export async function openConfined(path: string, flags: number): Promise<FileHandle> {
  for (let attempt = 1; ; attempt++) {
    const handle = await open(path, flags | noFollow);
    try {
      if (isThere(handle.fd, path)) return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
    await handle.close();
    if (attempt === maxAttempts) throw new MovedError(path);
  }
}

export function listConfined(path: string): Dirent[] {
  if (process.platform !== "linux") return readdirSync(path, { withFileTypes: true });
  for (let attempt = 1; ; attempt++) {
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | noFollow);
    try {
      if (!hasDescriptorPaths(descriptor)) return readdirSync(path, { withFileTypes: true });
      if (isThere(descriptor, path)) return readdirSync(wayOf(descriptor), { withFileTypes: true });
    } finally {
      closeSync(descriptor);
    }
    if (attempt === maxAttempts) throw new MovedError(path);
  }
}

/** An open folder: changes apply to it even if its path changes. */
export interface ConfinedFolder {
  readonly path: string;
  /** Opens an entry, never through a link. Whether the folder is still in its place is asked by `isIn`. */
  open(name: string, flags: number, mode?: number): Promise<FileHandle>;
  mkdir(name: string): Promise<void>;
  remove(name: string): Promise<void>;
  link(name: string, other: string): Promise<void>;
  /** Replaces one entry by another if `isStill` accepts it. False: refused. */
  replace(name: string, by: string, isStill: (there: BigIntStats | undefined) => boolean): boolean;
  /** Whether what was opened is in this folder, and this folder at its path. */
  holds(handle: FileHandle, name: string): boolean;
  close(): Promise<void>;
}

/** Opens the folder at a canonical path. Throws as `openConfined` does. */
export async function openConfinedFolder(path: string): Promise<ConfinedFolder> {
  const asFolder = (constants.O_DIRECTORY ?? 0) | (process.platform === "linux" ? asPlaceOnly : 0);
  // Windows opens no folders.
  const handle = process.platform === "win32" ? undefined : await openConfined(path, constants.O_RDONLY | asFolder);
  const through = handle !== undefined && hasDescriptorPaths(handle.fd) ? wayOf(handle.fd) : undefined;
  const wayTo = (name: string): string => {
    if (through !== undefined) return `${through}/${name}`;
    if (isElsewhere(path)) throw new MovedError(path);
    return join(path, name);
  };
  const wayToNew = (name: string): string => {
    const isInCloud = lstatSync(cloudStub(wayTo(name)), { throwIfNoEntry: false }) !== undefined;
    if (isInCloud) throw new NotDownloadedError(name);
    return wayTo(name);
  };
  return {
    path,
    open: (name, flags, mode) =>
      named(join(path, name), () =>
        open((flags & constants.O_CREAT) === 0 ? wayTo(name) : wayToNew(name), flags | noFollow, mode),
      ),
    mkdir: (name) => named(join(path, name), () => mkdir(wayTo(name))),
    remove: (name) => named(join(path, name), () => rm(wayTo(name), { force: true })),
    link: (name, other) => named(join(path, name), () => link(wayTo(name), wayToNew(other))),
    replace: (name, by, isStill) => {
      if (!isStill(lstatSync(wayTo(name), { bigint: true, throwIfNoEntry: false }))) return false;
      renameSync(wayTo(by), wayTo(name));
      return true;
    },
    holds: (opened, name) => isThere(opened.fd, join(path, name)),
    close: async () => await handle?.close(),
  };
}

async function named<Result>(path: string, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Error && "path" in error && typeof error.path === "string") {
      error.message = error.message.replace(error.path, path);
      error.path = path;
    }
    throw error;
  }
}

function isThere(descriptor: number, path: string): boolean {
  const place = placeOf(descriptor);
  // The file was replaced by a save after it was opened.
  if (place === path || place === `${path} (deleted)`) return true;
  // Case- or accent-insensitive file systems may report another spelling of the path.
  if (place !== undefined && folded(place) !== folded(path)) return false;
  return isThereByPath(descriptor, path) && isThereByPath(descriptor, path);
}

function isThereByPath(descriptor: number, path: string): boolean {
  try {
    const opened = fstatSync(descriptor, { bigint: true });
    if (isElsewhere(path)) return false;
    const found = lstatSync(path, { bigint: true });
    return (found.ino === opened.ino && found.dev === opened.dev && !isElsewhere(path)) || found.ino === 0n;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

function isElsewhere(path: string): boolean {
  const real = realpathSync.native(path);
  return real !== path && folded(real) !== folded(path);
}

function folded(path: string): string {
  return path.normalize("NFC").toLowerCase();
}

function hasDescriptorPaths(descriptor: number): boolean {
  return placeOf(descriptor) !== undefined;
}

function wayOf(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`;
}

function placeOf(descriptor: number): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    return readlinkSync(wayOf(descriptor));
  } catch {
    return undefined;
  }
}
