import { realpath } from "node:fs/promises";
import path from "node:path";
import { codeOf, openFolderInPlace, syncFolder } from "@memslot/core/files";
import { openNote } from "../notes/note-file.ts";
import type { NoteChangeRecord } from "./change-log.ts";

/** A folder that no index reads, as its name begins with a dot. */
const trashFolder = "memory/.trash";

/** Where the lines of a change go. One file each, so that one can be brought back or deleted for good by itself. */
export function trashName(id: string, day: string): string {
  return `${trashFolder}/${day}-${id}.md`;
}

/** On disk when it resolves. */
export async function writeTrash(
  { workspaceDir }: { workspaceDir: string },
  { trash, id, at, by, path: from, startLine, reason, before }: NoteChangeRecord & { trash: string },
): Promise<void> {
  const head = { id, forgotten: at, by, path: from, line: startLine, ...(reason === undefined ? {} : { reason }) };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  const note = await openNote({ workspaceDir, relPath: trash, heading: "" });
  try {
    await note.append(["---", ...lines, "---", before.replace(/\n$/u, "")]);
  } finally {
    await note.close();
  }
}

export async function dropTrash({ workspaceDir }: { workspaceDir: string }, trash: string): Promise<void> {
  const folder = await openFolderInPlace(path.join(await realpath(workspaceDir), trashFolder)).catch(
    (error: unknown) => {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    },
  );
  try {
    await folder?.remove(path.posix.basename(trash));
    if (folder !== undefined) await syncFolder(folder.path);
  } finally {
    await folder?.close();
  }
}
