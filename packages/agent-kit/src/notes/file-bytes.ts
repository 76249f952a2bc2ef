import { createHash } from "node:crypto";
import { constants, fstatSync, ftruncateSync, readSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { messageOf } from "@memslot/core";
import { codeOf } from "@memslot/core/files";

/** How much of a file is looked at, behind the place where a write began, for what it has left there. */
const maxLookedAt = 1_000_000;

/**
 * Writes bytes to the end of a file, on disk when it resolves: all of them, or none. What a full or failing disk has taken
 * of them is taken away again before this throws; what others have added meanwhile stays.
 */
export async function appendWhole(handle: FileHandle, bytes: Buffer): Promise<void> {
  const begin = fstatSync(handle.fd).size;
  let written = 0;
  try {
    ({ bytesWritten: written } = await handle.write(bytes, 0, bytes.length, null));
    if (written < bytes.length) throw new ShortWrite(written, bytes.length);
    await handle.sync();
  } catch (error) {
    if (written > 0) await takeBack(handle, bytes.subarray(0, written), begin, error);
    throw error;
  }
}

/** As a system answers that has no more room. */
class ShortWrite extends Error {
  readonly code = "ENOSPC";

  constructor(written: number, wanted: number) {
    super(`only ${written} of ${wanted} bytes could be written, so none were kept`);
  }
}

/** Takes away what was written last. Where others have gone on behind it, blank lines take its place. */
async function takeBack(handle: FileHandle, bytes: Buffer, begin: number, cause: unknown): Promise<void> {
  try {
    // In one go, so that nobody comes between the look and the cut.
    if (endsWith(handle.fd, bytes)) ftruncateSync(handle.fd, fstatSync(handle.fd).size - bytes.length);
    else await blankOut(handle, bytes, begin);
    await handle.sync();
  } catch (error) {
    const reason = `part of it was written and could not be taken back (${messageOf(error)})`;
    throw new Error(`${messageOf(cause)}; ${reason}`, { cause: error });
  }
}

function endsWith(descriptor: number, bytes: Buffer): boolean {
  const { size } = fstatSync(descriptor);
  const end = Buffer.alloc(bytes.length);
  return (
    size >= end.length &&
    readSync(descriptor, end, 0, end.length, size - end.length) === end.length &&
    end.equals(bytes)
  );
}

async function blankOut(handle: FileHandle, bytes: Buffer, begin: number): Promise<void> {
  const room = Buffer.alloc(maxLookedAt);
  const { bytesRead } = await handle.read(room, 0, room.length, begin);
  const at = room.subarray(0, bytesRead).indexOf(bytes);
  if (at < 0) return;
  // A file that was opened for appending takes no bytes elsewhere on Linux.
  await closing(await open(`/proc/self/fd/${handle.fd}`, constants.O_WRONLY), async (other) => {
    await other.write(Buffer.alloc(bytes.length, "\n"), 0, bytes.length, begin + at);
    await other.sync();
  });
}

/** SHA-256 of bytes, hexadecimal. */
export function hashOf(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** So many bytes from a place, the beginning if none is given, wherever the handle stands; fewer where the file has become shorter. */
export async function readWhole(handle: FileHandle, size: number, from = 0): Promise<Buffer> {
  const room = Buffer.alloc(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await handle.read(room, length, size - length, from + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return room.subarray(0, length);
}

/** Undefined where what was to be made is there already. */
export async function unlessThere<T>(making: Promise<T>): Promise<T | undefined> {
  return await making.catch((error: unknown) => {
    if (codeOf(error) !== "EEXIST") throw error;
    return undefined;
  });
}

/** Runs something with what was opened, and closes it however that ends. */
export async function closing<Opened extends { close(): Promise<void> }, T>(
  opened: Opened,
  run: (opened: Opened) => Promise<T>,
): Promise<T> {
  try {
    return await run(opened);
  } finally {
    await opened.close();
  }
}
