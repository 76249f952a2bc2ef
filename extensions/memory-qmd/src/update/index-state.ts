import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Collection } from "./collections.ts";
import { nothing, writeIndexYaml } from "./index-yaml.ts";
import type { Ledger } from "./ledger.ts";
import type { QmdProcess } from "../qmd-contract.ts";

const indexFile = "index.sqlite";
const besides = ["", "-wal", "-shm"];

/** Whether qmd has an index here. */
export function hasIndex(folder: string): boolean {
  return existsSync(join(folder, indexFile));
}

/**
 * Makes the index of qmd empty, so that the next update fills it from the notes. `damaged`: it is put aside for a person
 * to look at, the one before it is deleted. `keepVectors`: every collection is emptied by an update that finds no file
 * in it, and the vectors, which belong to the texts, are there again when the texts are.
 */
export async function emptyIndex(input: {
  folder: string;
  process: QmdProcess;
  ledger: Ledger;
  collections: readonly Collection[];
  damaged: boolean;
  keepVectors: boolean;
  signal: AbortSignal;
}): Promise<void> {
  const { folder, process, ledger, collections, signal } = input;
  ledger.forgetSeen();
  ledger.save();
  if (input.keepVectors && !input.damaged) {
    const emptied = collections.map(({ name, root }) => ({ name, root, pattern: nothing, ignore: [] }));
    writeIndexYaml(folder, emptied, true);
    await process.update({ files: ledger.files().length, signal });
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
