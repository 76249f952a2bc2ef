import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Creates a folder in the system's folder for temporary files. Returns its canonical path. */
export async function makeTempFolder(purpose: string): Promise<string> {
  return realpath(await mkdtemp(join(tmpdir(), `memslot-${purpose}-`)));
}

/** Retries: Windows refuses to delete files that an ending process still has open. */
export async function removeTempFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}
