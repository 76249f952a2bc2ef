import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A fresh folder in the system's place for temporary files, by its canonical path. */
export async function makeTempFolder(purpose: string): Promise<string> {
  return realpath(await mkdtemp(join(tmpdir(), `memslot-${purpose}-`)));
}

/** Windows refuses to delete what a process that is just ending still holds, so it is asked a few times. */
export async function removeTempFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}
