import { type Dirent, readdirSync } from "node:fs";
import path from "node:path";
import type { LeftOutFile } from "@memslot/core";
import { type FolderRules, folderRules, maxDepth, unlessUnreadable } from "../files/folder/folder-rules.ts";
import { isMarkdown } from "../files/folder/markdown-name.ts";
import { createTimeSlices } from "../time-slices.ts";

/** The look is ended after so many names. */
const mostNames = 50_000;

/** What a look at the memory files has found, by their paths. */
export interface SeenFiles {
  taken: ReadonlySet<string>;
  /** Those that were to be taken and could not be, with the reason. */
  failed: ReadonlyMap<string, string>;
}

/**
 * What lies in a workspace and is not searched, with the reason. Looks at names only, follows no link, and looks into no
 * folder that a rule leaves out, unless something in it is taken all the same. `more`: it was ended before its end.
 */
export async function findLeftOut(
  { workspaceDir, stateDir, seen }: { workspaceDir: string; stateDir: string; seen: SeenFiles },
  signal: AbortSignal,
): Promise<{ leftOut: LeftOutFile[]; more: boolean }> {
  const slices = createTimeSlices(signal);
  const withTaken = foldersOf(seen.taken);
  const leftOut: LeftOutFile[] = [];
  const folders: { way: string; enter: () => FolderRules | undefined }[] = [
    { way: "", enter: () => folderRules({ folder: workspaceDir, stateDir }) },
  ];
  let names = 0;
  for (let next = folders.shift(); next !== undefined; next = folders.shift()) {
    if (slices.isOver()) await slices.pause();
    if (names > mostNames) return { leftOut, more: true };
    const { way, enter } = next;
    const rules = unlessUnreadable(enter);
    for (const entry of entriesOf(path.join(workspaceDir, way))) {
      names++;
      const own = way + entry.name;
      if (seen.taken.has(own) || seen.failed.has(own)) continue;
      const isFolder = entry.isDirectory();
      const reason = rules?.leavesOut(entry.name, isFolder);
      if (isFolder && (reason === undefined || withTaken.has(`${own}/`))) {
        const isTooDeep = own.split("/").length > maxDepth;
        if (!isTooDeep) folders.push({ way: `${own}/`, enter: () => rules?.enter(entry.name) });
        continue;
      }
      leftOut.push({ path: own, kind: isFolder ? "folder" : "file", reason: reason ?? kindOf(entry) });
    }
  }
  return { leftOut, more: false };
}

/** Of what no rule of a folder names. */
function kindOf(entry: Dirent): LeftOutFile["reason"] {
  if (entry.isSymbolicLink()) return "link";
  return entry.isFile() && isMarkdown(entry.name) ? "layout" : "other";
}

function foldersOf(files: ReadonlySet<string>): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const file of files)
    for (let end = file.indexOf("/"); end >= 0; end = file.indexOf("/", end + 1)) folders.add(file.slice(0, end + 1));
  return folders;
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return []; // The scan says why it cannot be listed.
  }
}
