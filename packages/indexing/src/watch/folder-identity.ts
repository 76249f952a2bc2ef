import { lstatSync } from "node:fs";

// The thread that watches reads this too: nothing else of memslot is loaded for it.

/** Which folder it is that stands at a path, and who may enter it; undefined where none is to be seen. */
export function identityOf(folder: string): string | undefined {
  try {
    const stats = lstatSync(folder, { bigint: true });
    if (!stats.isDirectory()) return undefined;
    return `${stats.dev}:${stats.ino}:${stats.birthtimeNs}:${stats.mode}:${stats.uid}:${stats.gid}`;
  } catch {
    return undefined;
  }
}
