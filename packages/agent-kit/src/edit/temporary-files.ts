import { createHash, randomUUID } from "node:crypto";
import { type BigIntStats, lstatSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** A file that is not in its place yet, or the replaced file of a note: then with a hash of the note's name and its size. */
const draftName = /^\.memslot-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.([0-9a-f]+)-(\d+))?\.tmp$/u;
const oldMs = 60_000;
const exchangeMs = 10_000;

export function draftOf(): string {
  return `.memslot-${randomUUID()}.tmp`;
}

/** The second name of a note's file while it is replaced. `size`: bytes that the replacement has taken into account. */
export function replacedOf(note: string, size: number): string {
  return `.memslot-${randomUUID()}.${nameKey(note)}-${size}.tmp`;
}

function nameKey(note: string): string {
  return createHash("sha256").update(note).digest("hex").slice(0, 32);
}

/**
 * Removes what killed processes have left in a folder: old drafts and second names of this note. Returns replaced files
 * of the note, which may have bytes that only they have. The caller has the lock of the note, if one is given.
 */
export function clearDrafts(folder: string, note?: string): { name: string; size: number }[] {
  const drafts = [...draftsIn(folder)];
  if (drafts.length === 0) return [];
  const file = note && lstatSync(path.join(folder, note), { bigint: true, throwIfNoEntry: false });
  return drafts.flatMap(({ draft, stats, key, size }) => {
    const isSecondName = file && isSame(stats, file);
    if (file && !isSecondName && key === nameKey(note)) return [{ name: path.basename(draft), size: Number(size) }];
    // A second name has the old time of its file, but a new time of the last change.
    const isOld = Date.now() - Number(stats.ctimeMs) > oldMs;
    const isUnsaved = size !== undefined && stats.nlink === 1n && stats.size > size;
    if (isSecondName || (isOld && !isUnsaved)) rmSync(draft, { force: true });
    return [];
  });
}

/** Waits up to 10 s while another process replaces this file, until the new file has the appended bytes. */
export async function waitForExchange(note: string, file: BigIntStats): Promise<void> {
  const endsAtMs = performance.now() + exchangeMs;
  while (isBeingReplaced(note, file) && performance.now() < endsAtMs) await sleep(2);
}

function isBeingReplaced(note: string, file: BigIntStats): boolean {
  try {
    if (isSame(lstatSync(note, { bigint: true }), file)) return false;
    return [...draftsIn(path.dirname(note))].some(({ stats }) => isSame(stats, file));
  } catch {
    // Neither the note nor its folder need exist any more.
    return false;
  }
}

function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}

interface Draft {
  draft: string;
  stats: BigIntStats;
  key: string | undefined;
  size: bigint | undefined;
}

function* draftsIn(folder: string): Generator<Draft> {
  for (const name of readdirSync(folder)) {
    const found = draftName.exec(name);
    if (found === null) continue;
    const draft = path.join(folder, name);
    const stats = lstatSync(draft, { bigint: true, throwIfNoEntry: false });
    const [, key, size] = found;
    if (stats !== undefined) yield { draft, stats, key, size: size === undefined ? undefined : BigInt(size) };
  }
}
