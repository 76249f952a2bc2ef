import { type BigIntStats, constants, fstatSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { codeOf, MovedError, noSurprises, openInPlace } from "@memslot/core/files";
import { kindOf, maxFileBytes, mtimeMsOf, stampOf } from "./file-state.ts";

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

/** What to do where the process has no file descriptor left; undefined for any other failure. */
export function outOfDescriptors(error: unknown): string | undefined {
  const code = codeOf(error);
  if (code !== "EMFILE" && code !== "ENFILE") return undefined;
  return "too many open files: raise the limit (`ulimit -n`) and sync again";
}

const readAttempts = 3;
const retryMs = 25;
/** A file that is written in two steps is empty or short between them. */
const shortForMs = 100;

/** The content of a file in one of its states. */
export interface FileContent {
  bytes: Buffer;
  /** What the file system said of it when it had been read, and when that was. */
  stats: BigIntStats;
  lookedAtMs: number;
  /** False: it changed each time that it was read, so that what was read may be a state that it never had. */
  settled: boolean;
}

/**
 * Reads a file that others may be writing; undefined if it is gone. While a cloud folder fetches it, and as long as `read`
 * gives `undefined`, it is read again. Throws what the last attempt throws.
 */
export async function untilRead<Result>(
  signal: AbortSignal,
  read: (isLast: boolean) => Promise<Result | undefined>,
): Promise<Result | undefined> {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    const isLast = attempt === readAttempts;
    try {
      const result = await read(isLast);
      if (result !== undefined) return result;
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENOENT") return undefined;
      // Cloud folders answer so while they fetch a file.
      if (isLast || (code !== "EAGAIN" && code !== "EDEADLK" && code !== "EBUSY")) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs * attempt));
  }
}

/**
 * Reads a file whole. One that changes meanwhile is read again, and so is one that has just become shorter than
 * `knownSize`: most programs truncate a file before they write it. Throws for what is no regular file, is too large, or
 * is behind a link that was not there when it was found.
 */
export async function readSettled(
  absolutePath: string,
  knownSize: number | undefined,
  signal: AbortSignal,
): Promise<FileContent | undefined> {
  return await untilRead(signal, async (isLast) => {
    const handle = await openInPlace(absolutePath, constants.O_RDONLY).catch((error: unknown) => {
      if (!(error instanceof MovedError)) throw error;
      throw new Error("leads out of its folder through a link, which is not followed", { cause: error });
    });
    try {
      const state = await readOnce(handle);
      const age = Date.now() - mtimeMsOf(state.stats);
      const isShort = state.bytes.length < (knownSize ?? 0) && age >= 0 && age < shortForMs;
      return isLast || (state.settled && !isShort) ? state : undefined;
    } finally {
      await handle.close();
    }
  });
}

/** Reads as many bytes as there are at the beginning, so that a file that grows for ever comes to an end. */
async function readOnce(handle: FileHandle): Promise<FileContent> {
  // What the system knows of an open file it says at once; to be asked in another thread costs five times as much.
  const before = fstatSync(handle.fd, { bigint: true });
  if (!before.isFile()) throw new Error(`is not a regular file: ${kindOf(before)}`);
  if (before.size > maxFileBytes) throw new Error(`has grown to more than ${maxFileBytes / 1024 / 1024} MiB: split it`);
  const bytes = Buffer.alloc(Number(before.size));
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  const lookedAtMs = Date.now();
  const stats = fstatSync(handle.fd, { bigint: true });
  // Without a name it was deleted, or another file was put in its place.
  const settled = stampOf(stats) === stampOf(before) && Number(stats.size) === length && stats.nlink > 0n;
  return { bytes: bytes.subarray(0, length), stats, lookedAtMs, settled };
}
