import { constants, lstatSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import path from "node:path";
import { MemoryError } from "@memslot/core";
import { codeOf, noFollow, unlessMissing } from "@memslot/core/files";
import { journalFolder, sessionsFolder } from "@memslot/indexing/host";
import { closing } from "../edit/safe-writes.ts";
import type { TranscriptLabel, TranscriptPlace } from "./transcript-types.ts";

const fileName = /^(?!\.)[^/\\\0]{1,250}\.jsonl$/u;

/** The folder of a label; undefined if it does not exist or is behind a link. */
export function transcriptFolder(place: TranscriptPlace, label: TranscriptLabel): string | undefined {
  const folder = label === "sessions" ? sessionsFolder(place) : journalFolder(place);
  const parts = [path.dirname(path.dirname(folder)), path.dirname(folder), folder];
  const areFolders = parts.every((part) => lstatSync(part, { throwIfNoEntry: false })?.isDirectory() === true);
  return areFolders ? folder : undefined;
}

/**
 * Opens a transcript by its path, `sessions/<name>.jsonl` or `journal/<name>.jsonl`. Returns undefined if there is none.
 * Throws `PATH_NOT_ALLOWED` for another path and for a link.
 */
export async function inTranscript<T>(
  place: TranscriptPlace,
  relPath: string,
  read: (handle: FileHandle, bytes: number) => Promise<T>,
): Promise<T | undefined> {
  const notAllowed = new MemoryError(
    "PATH_NOT_ALLOWED",
    `${JSON.stringify(relPath)} is not a transcript: a path is like sessions/<id>.jsonl, and links are not followed`,
  );
  const [label, name = "", ...more] = relPath.split("/");
  if ((label !== "sessions" && label !== "journal") || more.length > 0 || !fileName.test(name)) throw notAllowed;
  const folder = transcriptFolder(place, label);
  if (folder === undefined) return undefined;
  const opened = await open(path.join(folder, name), constants.O_RDONLY | noFollow).catch((error: unknown) => {
    if (codeOf(error) === "ELOOP") throw notAllowed;
    return unlessMissing(error);
  });
  if (opened === undefined) return undefined;
  return await closing(opened, async (handle) => {
    const stats = await handle.stat();
    if (!stats.isFile()) throw notAllowed;
    return await read(handle, stats.size);
  });
}
