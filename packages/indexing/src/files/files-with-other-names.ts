import { type Dirent, readdirSync } from "node:fs";
import path from "node:path";
import { hasOtherNames } from "@memslot/core";
import { ignoredFolders } from "./ignored-folders.ts";
import { isMarkdown, type MemoryRoot, relativePath } from "./memory-roots.ts";
import { createTimeSlices } from "./time-slices.ts";

/** With more than these the whole root is left out: a folder of links was not made for people to read along. */
const maxFiles = 500;

/**
 * The notes of a root that have another name somewhere (hard links), by their paths from the workspace; undefined where
 * they are too many to name. They are looked for at each question of a shared session: a link can be made at any time,
 * and leaves no other trace.
 */
export async function filesWithOtherNames(
  root: MemoryRoot,
  workspaceDir: string,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  const found: string[] = [];
  const slices = createTimeSlices(signal);
  if (hasOtherNames(root.absolutePath)) return [relativePath(workspaceDir, root.absolutePath)];
  await walk(root.absolutePath, "");
  return found.length > maxFiles ? undefined : found;

  async function walk(folder: string, inside: string): Promise<void> {
    if (found.length > maxFiles) return;
    for (const entry of entriesOf(folder)) {
      if (slices.isOver()) await slices.pause();
      const { name } = entry;
      const absolutePath = path.join(folder, name);
      if (entry.isDirectory()) {
        if (!ignoredFolders.has(name)) await walk(absolutePath, `${inside}${name}/`);
      } else if (isMarkdown(name) && root.fits(inside + name) && hasOtherNames(absolutePath))
        found.push(relativePath(workspaceDir, absolutePath));
    }
  }
}

/** What is no folder, or cannot be listed, gives nothing to anybody. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
