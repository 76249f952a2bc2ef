import { randomUUID } from "node:crypto";
import { type BigIntStats, lstatSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";

const draftName = /^\.memslot-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/u;
/** What is older was left by a process that was killed. */
const oldMs = 60_000;

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
export function dropDraftNames(folder: string, { dev, ino }: BigIntStats): void {
  for (const [draft, stats] of draftsIn(folder))
    if (stats.dev === dev && stats.ino === ino) rmSync(draft, { force: true });
}

function* draftsIn(folder: string): Generator<[draft: string, stats: BigIntStats]> {
  for (const name of readdirSync(folder)) {
    if (!draftName.test(name)) continue;
    const draft = path.join(folder, name);
    const stats = lstatSync(draft, { bigint: true, throwIfNoEntry: false });
    if (stats !== undefined) yield [draft, stats];
  }
}
