import { randomUUID } from "node:crypto";
import { type BigIntStats, lstatSync, readdirSync, rmSync, constants } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { FolderInPlace } from "@memslot/core/files";
import { closing } from "./file-bytes.ts";

const draftName = /^\.memslot-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/u;
/** What is older was left by a process that was killed. */
const oldMs = 60_000;
/** How long a process may take between putting the new text in a note's place and adding what others have appended. */
const exchangeMs = 10_000;

/** A name for what is not in its place yet, or not any more. */
export function draftOf(): string {
  return `.memslot-${randomUUID()}.tmp`;
}

/** Takes away what processes that were killed have left in a folder. */
export function dropOldDrafts(folder: string): void {
  // A second name has the old time of its file, but a new time of the last change.
  for (const [draft, { ctimeMs }] of draftsIn(folder))
    if (Date.now() - Number(ctimeMs) > oldMs) rmSync(draft, { force: true });
}

/** Takes away such names of this very file. For who holds its lock: whoever made them is no longer there. */
export function dropDraftNames(folder: string, file: BigIntStats): void {
  for (const [draft, stats] of draftsIn(folder)) if (isSame(stats, file)) rmSync(draft, { force: true });
}

/**
 * Waits while a process exchanges the note that this file has been, which has such a name until the new one holds what was
 * appended to the old one. Not for ever: one that was killed adds nothing any more.
 */
export async function waitForExchange(note: string, file: BigIntStats): Promise<void> {
  const endsAtMs = performance.now() + exchangeMs;
  while (isKept(note, file) && performance.now() < endsAtMs) await sleep(2);
}

function isKept(note: string, file: BigIntStats): boolean {
  try {
    if (isSame(lstatSync(note, { bigint: true }), file)) return false;
    return [...draftsIn(path.dirname(note))].some(([, stats]) => isSame(stats, file));
  } catch {
    // Neither the note nor its folder need be there any more.
    return false;
  }
}

function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}

function* draftsIn(folder: string): Generator<[draft: string, stats: BigIntStats]> {
  for (const name of readdirSync(folder)) {
    if (!draftName.test(name)) continue;
    const draft = path.join(folder, name);
    const stats = lstatSync(draft, { bigint: true, throwIfNoEntry: false });
    if (stats !== undefined) yield [draft, stats];
  }
}

/**
 * Makes a file, whole and on disk or not at all, and returns what `prepare` returns. `prepare` runs when nothing but the
 * disk, or a file of that name, can prevent it any more. Throws what the file system throws: `EEXIST` for such a file.
 */
export async function makeFile<T>(
  folder: FolderInPlace,
  name: string,
  text: string,
  prepare: () => Promise<T>,
): Promise<T> {
  const draft = draftOf();
  try {
    await closing(
      await folder.open(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o666),
      async (handle) => {
        await handle.writeFile(text);
        await handle.sync();
      },
    );
    const prepared = await prepare();
    // A link and no rename: what is there by now stays.
    await folder.link(draft, name);
    return prepared;
  } finally {
    await folder.remove(draft).catch(() => undefined);
  }
}
