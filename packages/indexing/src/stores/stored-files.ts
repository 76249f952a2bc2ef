import { MemoryError } from "@memslot/core";
import type { ChunkIndex, FileTable, IndexedFile, RevisionStep } from "../chunk-index.ts";
import type { FileChunks, StoreBuild, StoreFiles } from "../chunk-store.ts";
import type { Agreement, StoreParts } from "./agreement.ts";

/** The files of the build that answers, in the store and in the ledger. */
export function createStoredFiles(parts: StoreParts): FileTable & Pick<ChunkIndex, "adoptFiles"> {
  const { ledger, store, agreement } = parts;
  const files = inBoth(parts);
  return {
    ...files,
    listFiles: async () => [...(await ledger.listFiles()), ...agreement.unknownFiles()],
    replaceFiles: (replaced) =>
      stepOf(agreement, async () => {
        await giveFiles(
          store,
          replaced.filter((file) => !agreement.isHeld(file)),
        );
        const step = await ledger.replaceFiles(replaced);
        await agreement.settled(replaced);
        return step;
      }),
    async adoptFiles(given) {
      const held = given.filter((file) => agreement.isHeld(file));
      if (held.length > 0) await agreement.adopt(held);
      return held.length;
    },
    touchFiles: (touched) => stepOf(agreement, () => ledger.touchFiles(touched)),
    removeFiles: (removed) =>
      stepOf(agreement, async () => {
        await store.removeFiles(removed);
        const step = await ledger.removeFiles(removed);
        await agreement.settled(removed);
        return step;
      }),
  };
}

/** Writes, and gives the step of the ledger as one of the index, whose revision says what was found out of the store as well. */
async function stepOf(
  agreement: Agreement,
  work: () => Promise<RevisionStep | void>,
): Promise<RevisionStep | undefined> {
  let before = "";
  const step = await agreement.write(async () => {
    before = agreement.changes;
    return await work();
  });
  if (step === undefined || agreement.changes !== before) return undefined;
  return { from: indexRevision(step.from, before), to: indexRevision(step.to, before) };
}

/** What both a ledger and what is known of its store are like. */
export function indexRevision(ledger: string, changes: string): string {
  return `${ledger}.${changes}`;
}

/** Makes a build beside the one that answers, in the store and in the ledger. */
export function createStoredBuilds({
  ledger,
  store,
  agreement,
}: StoreParts): Pick<ChunkIndex, "startBuild" | "finishBuild" | "abandonBuild"> {
  let begun: { name: string; build: StoreBuild } | undefined;

  async function open(name: string): Promise<StoreBuild> {
    const build = await store.build?.(name);
    if (build === undefined)
      throw new MemoryError("INVALID_ARGUMENT", "this store makes no build beside the one that answers");
    return build;
  }

  async function startBuild(name: string): Promise<FileTable> {
    return await agreement.write(async () => {
      const table = await ledger.startBuild(name);
      const build = await open(name);
      begun = { name, build };
      const { unknown } = await ledger.reconcile(await build.listFiles(), table.build);
      if (unknown.length > 0) await build.removeFiles(unknown);
      return inBoth({ ledger: table, store: build, agreement });
    });
  }

  return {
    startBuild: store.build && startBuild,
    async finishBuild() {
      await agreement.write(async () => {
        if (begun === undefined) throw new MemoryError("INVALID_ARGUMENT", "no rebuild was started to be finished");
        const { name, build } = begun;
        await agreement.finish(name, () => build.finish());
        begun = undefined;
      });
    },
    async abandonBuild() {
      await agreement.write(async () => {
        const name = begun?.name ?? (await ledger.currentBuild())?.name;
        if (name !== undefined) await (begun?.build ?? (await open(name))).abandon();
        begun = undefined;
        await ledger.abandonBuild();
      });
    },
  };
}

/** Writes first to the store and then to the ledger: what is only in the store is found when the two are compared. */
function inBoth(input: { ledger: FileTable; store: StoreFiles; agreement: Agreement }): FileTable {
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
