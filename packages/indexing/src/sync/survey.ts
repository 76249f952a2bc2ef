import { closeSync, openSync } from "node:fs";
import type { SyncFailure } from "@memslot/core";
import { openForReading } from "../files/file-kind.ts";
import { codeOf } from "@memslot/core/files";
import type { IndexedSource } from "../indexed-source.ts";
import type { StoredFiles } from "./stored-files.ts";
import { readFailure } from "./sync.ts";
import { createTimeSlices } from "../files/time-slices.ts";

/** So that no file counts as standing elsewhere: each is tried. */
const nothingIndexed = async (): Promise<StoredFiles> => new Map();

/** The files and folders of the memory that are there and cannot be read now. Opens each file, reads and changes nothing. */
export async function findUnread(sources: readonly IndexedSource[], signal: AbortSignal): Promise<SyncFailure[]> {
  const unread: SyncFailure[] = [];
  const slices = createTimeSlices(signal);
  for (const source of sources) {
    const { files, failed } = await source.scan(signal, nothingIndexed);
    unread.push(...failed);
    for (const { path, absolutePath } of files) {
      if (slices.isOver()) await slices.pause();
      try {
        closeSync(openSync(absolutePath, openForReading));
      } catch (error) {
        if (codeOf(error) !== "ENOENT") unread.push({ path, reason: readFailure(error) });
      }
    }
  }
  return unread;
}
