import { createHash } from "node:crypto";
import { constants, fstatSync, ftruncateSync, readSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { messageOf } from "@memslot/core";
import { codeOf, type ConfinedFolder, MovedError } from "@memslot/core/files";
import { draftOf } from "./temporary-files.ts";

const maxSearched = 1_000_000;

/** Appends all bytes to a file or none, on disk when it resolves. Bytes of other programs stay. */
export async function appendWhole(handle: FileHandle, bytes: Buffer): Promise<void> {
  const begin = fstatSync(handle.fd).size;
  let written = 0;
  try {
    ({ bytesWritten: written } = await handle.write(bytes, 0, bytes.length, null));
    if (written < bytes.length)
      throw Object.assign(new Error(`only ${written} of ${bytes.length} bytes could be written, so none were kept`), {
        code: "ENOSPC",
      });
    await handle.sync();
  } catch (error) {
    if (written > 0) await takeBack(handle, bytes.subarray(0, written), begin, error);
    throw error;
  }
}

async function takeBack(handle: FileHandle, bytes: Buffer, begin: number, cause: unknown): Promise<void> {
  try {
    // Synchronous, so that nothing of this process runs between the comparison and the cut.
    if (endsWith(handle.fd, bytes)) ftruncateSync(handle.fd, fstatSync(handle.fd).size - bytes.length);
    else await blankOut(handle, bytes, begin);
    await handle.sync();
  } catch (error) {
    const reason = `part of it was written and could not be removed (${messageOf(error)})`;
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
  const at = (await readWhole(handle, maxSearched, begin)).indexOf(bytes);
  if (at < 0) return;
  // On Linux a file that was opened for appending takes bytes at its end only.
  await closing(await open(`/proc/self/fd/${handle.fd}`, constants.O_WRONLY), async (other) => {
    await other.write(Buffer.alloc(bytes.length, "\n"), 0, bytes.length, begin + at);
    await other.sync();
  });
}

/** Creates a file, whole and on disk or not at all. `prepare` runs last before that. Throws `EEXIST` if it exists. */
export async function makeFile<T>(
  folder: ConfinedFolder,
  name: string,
  text: string,
  prepare: () => Promise<T>,
): Promise<T> {
  const draft = draftOf();
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
    await closing(await folder.open(draft, flags, 0o666), async (handle) => {
      if (!folder.holds(handle, draft)) throw new MovedError(folder.path);
      await handle.writeFile(text);
      await handle.sync();
    });
    const prepared = await prepare();
    // A link instead of a rename never replaces a file that another process has created meanwhile.
    await folder.link(draft, name);
    return prepared;
  } finally {
    await folder.remove(draft).catch(() => undefined);
  }
}

export function hashOf(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export async function readWhole(handle: FileHandle, size: number, from = 0): Promise<Buffer> {
  const bytes = Buffer.alloc(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await handle.read(bytes, length, size - length, from + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

export async function unlessThere<T>(making: Promise<T>): Promise<T | undefined> {
  return await making.catch((error: unknown) => {
    if (codeOf(error) !== "EEXIST") throw error;
    return undefined;
  });
}

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
