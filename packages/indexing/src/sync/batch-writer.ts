import { messageOf } from "@memslot/core";
import type { IndexedFile, FileTable, FileRecord } from "../chunk-index.ts";

/** How much is written in one transaction. */
export interface BatchSize {
  files: number;
  characters: number;
}

/** What somebody waits for is written in large batches. */
export const largeBatch: BatchSize = { files: 64, characters: 400_000 };
/** Behind the one that answers a build is made in small ones: searches come in between, and little is done again. */
export const smallBatch: BatchSize = { files: 8, characters: 64_000 };

/** Gathers files into batches, each written whole; at most one batch is on its way while the next is filled. */
export interface BatchWriter {
  replace(file: IndexedFile): Promise<void>;
  touch(file: FileRecord): Promise<void>;
  flush(): Promise<void>;
  /** Waits for the batch that is on its way, whatever comes of it: nobody may close the store under it. */
  settled(): Promise<void>;
}

/** Tells a store that failed, which ends a sync, from a file that could not be read, which does not. */
export class StoreFailure extends Error {
  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
  }
}

/** What the store itself has thrown. */
export function storeErrorOf(error: unknown): unknown {
  return error instanceof StoreFailure ? error.cause : error;
}

export function createBatchWriter(table: Pick<FileTable, "replaceFiles" | "touchFiles">, size: BatchSize): BatchWriter {
  let files: IndexedFile[] = [];
  let touched: FileRecord[] = [];
  let characters = 0;
  let running: Promise<void> = Promise.resolve();

  async function send(): Promise<void> {
    if (files.length === 0 && touched.length === 0) return;
    const [replacing, touching] = [files, touched];
    [files, touched, characters] = [[], [], 0];
    const before = running;
    running = before.then(async () => {
      try {
        if (replacing.length > 0) await table.replaceFiles(replacing);
        if (touching.length > 0) await table.touchFiles(touching);
      } catch (error) {
        throw new StoreFailure(error);
      }
    });
    // The next send or flush awaits it; until then a failure must not count as unhandled.
    running.catch(() => {});
    await before;
  }

  return {
    async replace(file) {
      files.push(file);
      for (const { text } of file.chunks) characters += text.length;
      if (files.length >= size.files || characters >= size.characters) await send();
    },
    async touch(file) {
      touched.push(file);
      if (touched.length >= size.files) await send();
    },
    async flush() {
      try {
        await send();
        await running;
      } catch (error) {
        throw storeErrorOf(error);
      }
    },
    settled: async () => await running.catch(() => {}),
  };
}
