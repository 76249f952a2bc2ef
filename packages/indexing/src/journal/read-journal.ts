import { type ManagerReadParams, MemoryError, type MemoryReadResult } from "@memslot/core";
import { readClientWindow } from "../clients/read-window.ts";
import { readRecord } from "../sessions/transcript-record.ts";
import { journalFile } from "./journal-folder.ts";

/** Whether a path is one that a result from the journal has. */
export function isJournalPath(relPath: string): boolean {
  return /^(?:\.\/)?journal\/[^/]+\.jsonl$/.test(relPath);
}

/**
 * Reads a window of a file of the journal: a line for each of its lines, as it is searched, without secrets. Refuses
 * where others read along.
 */
export async function readJournal(params: ManagerReadParams, folder: string): Promise<MemoryReadResult> {
  const { relPath } = params;
  if (params.audience === "shared")
    throw new MemoryError(
      "PATH_NOT_ALLOWED",
      `${relPath} cannot be read in a session that others read: it is private.`,
    );
  const file = journalFile(folder, relPath);
  const shown = relPath.replace(/^\.\//, "");
  if (file === undefined) return { status: "not_found", text: "", path: shown };
  return await readClientWindow(
    { file: { path: shown, absolutePath: file, kind: "lines" }, recordOf: readRecord },
    params,
  );
}
