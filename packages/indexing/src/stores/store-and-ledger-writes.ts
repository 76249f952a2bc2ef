import { MemoryError } from "@memslot/core";
import type { NoteIndex } from "../note-index.ts";
import type { FileTable } from "../ledger/ledger.ts";
import type { IndexedFile, RevisionStep } from "../index-row-types.ts";
import type { FileChunks, StoreBuild, StoreFiles } from "../chunk-store.ts";
import type { Agreement, StoreParts } from "./store-consistency.ts";

export function createStoredFiles(parts: StoreParts): FileTable & Pick<NoteIndex, "importFiles"> {
  const { ledger, agreement } = parts;
  return {
    ...inBoth(parts, agreement),
    listFiles: async () => [...(await ledger.listFiles()), ...agreement.unknownFiles()],
    async importFiles(given) {
      const held = given.filter((file) => agreement.isHeld(file));
      if (held.length > 0) await agreement.importFiles(held);
      return held.length;
    },
  };
}

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

export function indexRevision(ledger: string, changes: string): string {
  return `${ledger}.${changes}`;
}

export function createStoredBuilds({
  ledger,
  store,
  agreement,
}: StoreParts): Pick<NoteIndex, "startBuild" | "finishBuild" | "abandonBuild"> {
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

/** Writes to the store, then to the ledger; a comparison finds interrupted writes. */
function inBoth(
  { ledger, store, agreement }: { ledger: FileTable; store: StoreFiles; agreement: Agreement },
  answering?: Pick<Agreement, "isHeld" | "settled">,
): FileTable {
  return {
    listFiles: () => ledger.listFiles(),
    replaceFiles: (files) =>
      stepOf(agreement, async () => {
        const given = files.filter((file) => answering?.isHeld(file) !== true);
        if (given.length > 0) await store.replaceFiles(given.map(chunksOf));
        const step = await ledger.replaceFiles(files);
        await answering?.settled(files);
        return step;
      }),
    touchFiles: (files) => stepOf(agreement, () => ledger.touchFiles(files)),
    removeFiles: (files) =>
      stepOf(agreement, async () => {
        await store.removeFiles(files);
        const step = await ledger.removeFiles(files);
        await answering?.settled(files);
        return step;
      }),
  };
}

function chunksOf({ path, source, hash, recipe, chunks, fromLine }: IndexedFile): FileChunks {
  return { path, source, hash, recipe, chunks, fromLine };
}
