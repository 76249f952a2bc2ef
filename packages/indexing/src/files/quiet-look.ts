import { type Dirent, readdirSync, realpathSync } from "node:fs";

// The thread that watches may read this too: nothing else of memslot is loaded for it.

/** The real path of something, as the disk spells it; undefined if nothing is there. */
export function realPathOf(place: string): string | undefined {
  try {
    return realpathSync.native(place);
  } catch {
    return undefined;
  }
}

/** What a folder holds; nothing if it cannot be listed. */
export function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
