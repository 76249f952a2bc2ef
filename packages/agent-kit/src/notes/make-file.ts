import { constants } from "node:fs";
import type { FolderInPlace } from "@memslot/core/files";
import { draftOf } from "./drafts.ts";

/**
 * Makes a file, whole and on disk or not at all. `prepare` runs when nothing but the disk can prevent it any more. Throws
 * what the file system throws: `EEXIST` where another process has put one there.
 */
export async function makeFile(
  folder: FolderInPlace,
  name: string,
  text: string,
  prepare?: () => Promise<void>,
): Promise<void> {
  const draft = draftOf();
  try {
    const handle = await folder.open(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o666);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await prepare?.();
    // A link and no rename: what is there by now stays.
    await folder.link(draft, name);
  } finally {
    await folder.remove(draft).catch(() => undefined);
  }
}
