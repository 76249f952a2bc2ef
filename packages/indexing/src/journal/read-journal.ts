import { open } from "node:fs/promises";
import { type ManagerReadParams, MemoryError, type MemoryReadResult, messageOf } from "@memslot/core";
import { openForReading } from "../files/file-kind.ts";
import { fitWindow } from "../files/read-file.ts";
import { asOneLine, renderMessage, wholeLineTokens } from "../sessions/render-message.ts";
import { readRecord } from "../sessions/transcript-record.ts";
import { journalFile } from "./journal-folder.ts";
import { codeOf } from "@memslot/core/files";

/** Whether a path is one that a result from the journal has. */
export function isJournalPath(relPath: string): boolean {
  return /^(?:\.\/)?journal\/[^/]+\.jsonl$/.test(relPath);
}

/**
 * Reads a window of a file of the journal: a line for each of its lines, as it is searched, without secrets. Refuses
 * where others read along.
 */
export async function readJournal(params: ManagerReadParams, folder: string): Promise<MemoryReadResult> {
  const { relPath, from, lines, signal } = params;
  if (params.audience === "shared")
    throw new MemoryError(
      "PATH_NOT_ALLOWED",
      `${relPath} cannot be read in a session that others read: it is private.`,
    );
  const file = journalFile(folder, relPath);
  const shown = relPath.replace(/^\.\//, "");
  const text = file === undefined ? undefined : await textOf(file, shown, signal);
  if (text === undefined) return { status: "not_found", text: "", path: shown };
  const all = text.replace(/\n$/, "").split("\n");
  const window = all.slice(from - 1, from - 1 + lines).map(shownLine);
  if (window.length === 0) return { status: "ok", text: "", path: shown, from, lines: 0 };
  return fitWindow(window, shown, from, all.length);
}

async function textOf(file: string, shown: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const handle = await open(file, openForReading);
    try {
      return await handle.readFile({ encoding: "utf8", signal });
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (signal.aborted) throw error;
    if (codeOf(error) === "ENOENT") return undefined;
    throw new MemoryError("UNAVAILABLE", `${shown} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

/** Empty for a line that nobody said. */
function shownLine(line: string): string {
  const record = readRecord(Buffer.from(line));
  if (record.kind !== "message") return "";
  return asOneLine(renderMessage(record.role, record.text, wholeLineTokens));
}
