import { constants, existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import path from "node:path";
import { codeOf, notesLayout, notesMark, openFolderInPlace, syncFolder } from "@memslot/core/files";
import { holdsNotes } from "@memslot/indexing/host";

const markText = `This folder is a folder of notes: memslot takes all Markdown in it for memory, also beside MEMORY.md and memory/,
which agents write to. Without this file only MEMORY.md, USER.md and memory/ would be.
`;

/**
 * To be called before MEMORY.md or memory/ is made: a folder of notes stays one. Where there are notes that the agent's
 * layout would hide, the mark of a folder of notes is put beside them first, so that there is no moment without it.
 * Throws what the file system throws.
 */
export async function keepNotesLayout(workspaceDir: string): Promise<void> {
  const place = await realpath(workspaceDir);
  if (existsSync(path.join(place, notesMark))) return;
  // Whatever is configured: the mark means nothing where `memorySearch.notes` is set.
  if (notesLayout(place, "auto").layout !== "all" || !holdsNotes(place)) return;
  const folder = await openFolderInPlace(place);
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
    const handle = await folder.open(notesMark, flags, 0o666);
    try {
      await handle.writeFile(markText);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await syncFolder(place);
  } catch (error) {
    // Another process has done it at the same moment.
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    await folder.close();
  }
}
