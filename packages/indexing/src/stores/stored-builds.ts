import { MemoryError } from "@memslot/core";
import type { IndexBuilds } from "../chunk-index.ts";
import type { ChunkStore, StoreBuild } from "../chunk-store.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Agreement } from "./agreement.ts";
import { inBoth } from "./stored-files.ts";

/** Makes a build beside the one that answers, in the store and in the ledger. */
export function createStoredBuilds(input: { ledger: Ledger; store: ChunkStore; agreement: Agreement }): IndexBuilds {
  const { ledger, store, agreement } = input;
  let begun: { name: string; build: StoreBuild } | undefined;

  async function open(name: string): Promise<StoreBuild> {
    const build = await store.build?.(name);
    if (build === undefined)
      throw new MemoryError("INVALID_ARGUMENT", "this store makes no build beside the one that answers");
    return build;
  }

  return {
    async start(name) {
      return await agreement.write(async () => {
        const table = await ledger.startBuild(name);
        const build = await open(name);
        begun = { name, build };
        const { unknown } = await ledger.reconcile(await build.listFiles(), table.build);
        if (unknown.length > 0) await build.removeFiles(unknown);
        return inBoth({ ledger: table, store: build, agreement });
      });
    },
    async finish() {
      await agreement.write(async () => {
        if (begun === undefined) throw new MemoryError("INVALID_ARGUMENT", "no rebuild was started to be finished");
        const { name, build } = begun;
        await agreement.finish(name, () => build.finish());
        begun = undefined;
      });
    },
    async abandon() {
      await agreement.write(async () => {
        const name = begun?.name ?? (await ledger.currentBuild())?.name;
        if (name !== undefined) await (begun?.build ?? (await open(name))).abandon();
        begun = undefined;
        await ledger.abandonBuild();
      });
    },
  };
}
