import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Collection } from "./collections.ts";
import { nothing, writeIndexYaml } from "./index-yaml.ts";
import type { QmdRecord } from "./qmd-record.ts";
import type { QmdProcess } from "../qmd-contract.ts";
import { indexFile } from "../state-folder.ts";

const besides = ["", "-wal", "-shm"];

/**
 * Makes the index of qmd empty, so that the next update fills it from the notes. `damaged`: it is put aside for a person
 * to look at, the one before it is deleted. `keepVectors`: every collection is emptied by an update that finds no file
 * in it, and the vectors, which belong to the texts, are there again when the texts are.
 */
export async function emptyIndex(input: {
  folder: string;
  process: QmdProcess;
  record: QmdRecord;
  collections: readonly Collection[];
  damaged: boolean;
  keepVectors: boolean;
  signal: AbortSignal;
}): Promise<void> {
  const { folder, process, record, collections, signal } = input;
  await record.forgetSeen();
  if (input.keepVectors && !input.damaged) {
    const emptied = collections.map(({ name, root }) => ({ name, root, pattern: nothing, ignore: [] }));
    writeIndexYaml(folder, emptied, true);
    await process.update({ files: record.files.length, signal });
  } else {
    await process.pause();
    try {
      signal.throwIfAborted();
      for (const ending of besides) putAway(join(folder, `${indexFile}${ending}`), input.damaged);
    } finally {
      process.resume();
    }
  }
  writeIndexYaml(folder, collections, true);
  process.mended();
}

function putAway(file: string, damaged: boolean): void {
  if (!existsSync(file)) return;
  const aside = `${file}.damaged`;
  if (damaged) {
    rmSync(aside, { force: true });
    renameSync(file, aside);
  } else rmSync(file, { force: true });
}
