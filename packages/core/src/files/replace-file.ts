import { randomUUID } from "node:crypto";
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { namesIn } from "./error-code.ts";

const ownersMode = 0o600;
const ownersFolderMode = 0o700;

/** Writes a file atomically and durably; creates its folder, and removes drafts of killed processes. */
export async function replaceFile(
  file: string,
  text: string,
  { mode = ownersMode }: { mode?: number } = {},
): Promise<void> {
  const draft = draftOf(file);
  const folder = dirname(file);
  try {
    await mkdir(folder, { recursive: true, mode: ownersFolderMode });
    dropOldDrafts(file);
    const handle = await open(draft, "wx", mode);
    try {
      await handle.chmod(mode);
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (error) {
    // What went wrong first is what the caller has to know.
    await rm(draft, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(folder);
}

/** Synchronous, atomic but not durable: for files that can be rebuilt. */
export function replaceFileSync(file: string, text: string): void {
  const draft = draftOf(file);
  try {
    mkdirSync(dirname(file), { recursive: true, mode: ownersFolderMode });
    writeFileSync(draft, text, { mode: ownersMode, flag: "wx" });
    renameSync(draft, file);
  } catch (error) {
    tryToRemove(draft);
    throw error;
  }
}

function tryToRemove(draft: string): void {
  try {
    rmSync(draft, { force: true });
  } catch {
    // What went wrong first is what the caller has to know.
  }
}

/** Makes a new file name durable (not needed on Windows). */
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

function draftOf(file: string): string {
  return `${file}.${randomUUID()}.tmp`;
}

const oldMs = 60_000;
const token = /^\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/;

/** Removes drafts left by killed processes. */
function dropOldDrafts(path: string): void {
  const name = basename(path);
  for (const each of namesIn(dirname(path))) {
    if (!each.startsWith(name) || !token.test(each.slice(name.length))) continue;
    const draft = join(dirname(path), each);
    const { mtimeMs } = statSync(draft, { throwIfNoEntry: false }) ?? { mtimeMs: Infinity };
    if (Date.now() - mtimeMs > oldMs) rmSync(draft, { force: true });
  }
}
