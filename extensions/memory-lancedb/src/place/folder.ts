import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { MemoryError, messageOf } from "@memslot/core";
import { closeNative } from "./close-native.ts";
import type { LanceLibrary, LancePlace } from "./place.ts";
import { createWithin, folderErrors } from "./place-errors.ts";

/**
 * An index in a folder of this machine. Where it is not there and must not be made, nothing is written: the place is
 * an empty one in memory.
 */
export async function openFolder(library: LanceLibrary, folder: string, mayCreate: boolean): Promise<LancePlace> {
  const isThere = existsSync(folder);
  if (!isThere && mayCreate) await makeFolder(folder);
  const uri = isThere || mayCreate ? folder : "memory://nothing";
  const connection = await library.connect(uri);
  return {
    kind: "folder",
    connection,
    location: folder,
    folder,
    tablePrefix: "",
    within: createWithin(folderErrors(folder)),
    close: () => closeNative(connection),
  };
}

async function makeFolder(folder: string): Promise<void> {
  try {
    // What an index holds is for its owner alone.
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new MemoryError(
      "UNAVAILABLE",
      `the folder ${folder} for the index cannot be made: ${messageOf(error)}; make it, or set plugins.entries.memory-lancedb.config.dbPath to another one`,
      { cause: error },
    );
  }
}
