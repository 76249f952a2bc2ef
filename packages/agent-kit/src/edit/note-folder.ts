import { constants, existsSync } from "node:fs";
import { lstat, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { MemoryError, isAbort, messageOf, type Sentence } from "@memslot/core";
import { sentence } from "@memslot/core/host";
import {
  codeOf,
  type ConfinedFolder,
  MovedError,
  openConfinedFolder,
  syncFolder,
  notesLayout,
  notesMark,
  unlessMissing,
} from "@memslot/core/files";
import { holdsNotes } from "@memslot/indexing/host";
import type { NotePath } from "./note-types.ts";
import { closing, unlessThere } from "./safe-writes.ts";

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new DOMException(messageOf(signal.reason), "AbortError");
}

export function cannotWrite({ relPath, workspaceDir }: NotePath, why: string | Sentence, cause?: unknown): MemoryError {
  const about = { path: relPath, folder: workspaceDir, why };
  return new MemoryError("WORKSPACE", sentence("note.unwritable", about), { cause });
}

/** Opens the folder of a note and creates missing folders. Follows no symbolic link, to stay inside the workspace. */
export async function openWay(note: NotePath): Promise<ConfinedFolder> {
  const workspaceDir = await realpath(note.workspaceDir);
  if (!(await stat(workspaceDir)).isDirectory()) throw cannotWrite(note, "the workspace is not a folder");
  await checkWay(note, workspaceDir);
  await keepNotesLayout(workspaceDir);
  let folder = await openConfinedFolder(workspaceDir);
  for (const part of note.relPath.split("/").slice(0, -1)) {
    const { path: above, mkdir, close } = folder;
    try {
      const made = await unlessThere(mkdir(part).then(() => true));
      folder = await openConfinedFolder(path.join(above, part));
      if (made) await syncFolder(above);
    } finally {
      await close();
    }
  }
  return folder;
}

async function checkWay(note: NotePath, workspaceDir: string): Promise<void> {
  const parts = note.relPath.split("/");
  for (let count = 1; count <= parts.length; count++) {
    const part = parts.slice(0, count).join("/");
    const found = await lstat(path.join(workspaceDir, part)).catch(unlessMissing);
    if (found === undefined) return;
    const isLast = count === parts.length;
    const about = { part, kind: sentence(isLast ? "note.file" : "note.folder") };
    if (found.isSymbolicLink()) throw cannotWrite(note, sentence("note.linked", about));
    if (!(isLast ? found.isFile() : found.isDirectory())) throw cannotWrite(note, sentence("note.other", about));
  }
}

/** Names the file and the next step in an error. A `MemoryError` and an abort stay as they are. */
export async function failureOf(note: NotePath, error: unknown): Promise<unknown> {
  if (MemoryError.is(error) || isAbort(error)) return error;
  const code = String(codeOf(error));
  if (error instanceof MovedError || code === "ENOTDIR" || code === "ELOOP") {
    // Name the obstacle if it is still there.
    const obstacle = await realpath(note.workspaceDir)
      .then((workspaceDir) => checkWay(note, workspaceDir))
      .catch((reason: unknown) => reason);
    if (MemoryError.is(obstacle)) return obstacle;
  }
  return cannotWrite(note, `${messageOf(error)}: ${steps[code] ?? "check the folder and its file system"}`, error);
}

const steps: Readonly<Record<string, string>> = {
  ENOENT: "check that the workspace folder exists",
  ENOTDIR: "check that the workspace is a folder",
  ECLOUD: "download it (in Finder: Download Now), then write the note again",
  EMOVED: "nothing was written; write the note again",
  EACCES: "make the file and its folder writable",
  EPERM: "make the file and its folder writable",
  EROFS: "the file system is read-only; move the workspace to one that can be written",
  ENOSPC: "free space on the disk",
  EDQUOT: "free space in the quota",
  ELOOP: "symbolic links are not followed; put a file in its place",
  EISDIR: "a folder has the file's name; move it away",
};

const markText = `This folder is a folder of notes: memslot takes all Markdown in it for memory, also beside MEMORY.md and memory/,
which agents write to. Without this file only MEMORY.md, USER.md and memory/ would be.
`;

/** Writes the layout mark before MEMORY.md or memory/ is created in a folder of notes, which would hide its notes. */
async function keepNotesLayout(workspaceDir: string): Promise<void> {
  const place = await realpath(workspaceDir);
  if (existsSync(path.join(place, notesMark))) return;
  // Whatever is configured: `memorySearch.notes` overrides the mark.
  if (notesLayout(place, "auto").layout !== "all" || !holdsNotes(place)) return;
  await closing(await openConfinedFolder(place), async (folder) => {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
    const opened = await unlessThere(folder.open(notesMark, flags, 0o666));
    if (opened === undefined) return;
    await closing(opened, async (handle) => {
      await handle.writeFile(markText);
      await handle.sync();
    });
    await syncFolder(place);
  });
}
