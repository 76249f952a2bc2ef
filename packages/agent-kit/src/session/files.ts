import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import path from "node:path";

/** A path that turned into a link is not opened, where the platform can say so; a pipe does not hold anybody up. */
export const noSurprises: number = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** For a `catch` where a file need not be there: gives undefined for one that is missing, and throws what else it is. */
export function unlessMissing(error: unknown): undefined {
  if (codeOf(error) === "ENOENT") return undefined;
  throw error;
}

/** Replaces a file as a whole: a crash leaves the old one or the new one. */
export async function replaceFile(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomUUID()}.tmp`;
  try {
    const handle = await open(draft, "wx", 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncFolder(path.dirname(file));
}

/** Makes the name of a new file last through a power cut. Windows cannot, and does not need it. */
export async function syncFolder(folder: string): Promise<void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(folder, "r");
    await handle.sync();
  } catch {
    // Some file systems refuse it. What is in the file is on the disk all the same.
  } finally {
    await handle?.close();
  }
}
