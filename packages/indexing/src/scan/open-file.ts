import { type BigIntStats, constants, fstatSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { Sentence } from "@memslot/core";
import { sentence } from "@memslot/core/host";
import { codeOf, MovedError, noFollow, openConfined } from "@memslot/core/files";
import { kindOf, maxFileBytes, mtimeMsOf, stampOf } from "./file-state.ts";

/** Fails if the path became a link, where the platform supports it. */
export const openForReading: number = constants.O_RDONLY | noFollow;

export async function withFile<Result>(file: string, work: (handle: FileHandle) => Promise<Result>): Promise<Result> {
  const handle = await open(file, openForReading);
  try {
    return await work(handle);
  } finally {
    await handle.close();
  }
}

export function outOfDescriptors(error: unknown): Sentence | undefined {
  const code = codeOf(error);
  if (code !== "EMFILE" && code !== "ENFILE") return undefined;
  return sentence("file.descriptors");
}

const readAttempts = 3;
const retryMs = 25;
const shortForMs = 100;

export interface FileContent {
  bytes: Buffer;
  stats: BigIntStats;
  lookedAtMs: number;
  /** False: it changed during every read, so the content may be inconsistent. */
  settled: boolean;
}

/** Reads a changing file with retries; undefined if it is gone. Throws the last error. */
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
      if (isLast || (code !== "EAGAIN" && code !== "EDEADLK" && code !== "EBUSY")) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs * attempt));
  }
}

/** Reads a whole file, retrying while it changes. Throws for special or large files and new links. */
export async function readSettled(
  absolutePath: string,
  knownSize: number | undefined,
  signal: AbortSignal,
): Promise<FileContent | undefined> {
  return await untilRead(signal, async (isLast) => {
    const handle = await openConfined(absolutePath, constants.O_RDONLY).catch((error: unknown) => {
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

/** Reads at most the initial size, so that a growing file ends. */
async function readOnce(handle: FileHandle): Promise<FileContent> {
  const before = fstatSync(handle.fd, { bigint: true });
  if (!before.isFile()) throw new Error(`is not a regular file: ${sentence(kindOf(before)).reason}`);
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
  // Without a link count it was deleted or replaced.
  const settled = stampOf(stats) === stampOf(before) && Number(stats.size) === length && stats.nlink > 0n;
  return { bytes: bytes.subarray(0, length), stats, lookedAtMs, settled };
}
