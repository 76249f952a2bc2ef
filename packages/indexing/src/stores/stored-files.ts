import type { FileTable, IndexedFile } from "../chunk-index.ts";
import type { ChunkStore, FileChunks, StoreFiles } from "../chunk-store.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Agreement } from "./agreement.ts";

/** The files of the build that answers, in the store and in the ledger. */
export function createStoredFiles({
  ledger,
  store,
  agreement,
}: {
  ledger: Ledger;
  store: ChunkStore;
  agreement: Agreement;
}): FileTable {
  const files = inBoth({ ledger, store, agreement });
  return {
    ...files,
    listFiles: async () => [...(await ledger.listFiles()), ...agreement.unknownFiles()],
    async replaceFiles(replaced) {
      await agreement.write(async () => {
        await giveFiles(
          store,
          replaced.filter((file) => !agreement.isHeld(file)),
        );
        await ledger.replaceFiles(replaced);
        await agreement.settled(replaced);
      });
    },
    async removeFiles(removed) {
      await agreement.write(async () => {
        await store.removeFiles(removed);
        await ledger.removeFiles(removed);
        await agreement.settled(removed);
      });
    },
  };
}

/** Writes first to the store and then to the ledger: what is only in the store is found when the two are compared. */
export function inBoth(input: { ledger: FileTable; store: StoreFiles; agreement: Agreement }): FileTable {
  const { ledger, store, agreement } = input;
  return {
    listFiles: () => ledger.listFiles(),
    async replaceFiles(files) {
      await agreement.write(async () => {
        await giveFiles(store, files);
        await ledger.replaceFiles(files);
      });
    },
    touchFiles: (files) => agreement.write(() => ledger.touchFiles(files)),
    async removeFiles(files) {
      await agreement.write(async () => {
        await store.removeFiles(files);
        await ledger.removeFiles(files);
      });
    },
  };
}

async function giveFiles(store: StoreFiles, files: readonly IndexedFile[]): Promise<void> {
  if (files.length > 0) await store.replaceFiles(files.map(chunksOf));
}

/** What a store is told of a file. */
function chunksOf({ path, source, hash, recipe, chunks, fromLine }: IndexedFile): FileChunks {
  return { path, source, hash, recipe, chunks, fromLine };
}
