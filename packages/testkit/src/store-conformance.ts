import type { ChunkStore } from "@memslot/indexing";
import { makeTempFolder, removeTempFolder } from "./helpers/temp-folder.ts";
import { type SuiteOptions, type TestRunner, registerSuite } from "./register-suite.ts";
import { type StoreNeed, StoreLab, note } from "./store/store-test-environment.ts";
import { lifetimeChecks } from "./store/lifecycle-checks.ts";
import { scriptChecks } from "./store/scripted-checks.ts";
import { searchChecks } from "./store/store-search-checks.ts";

export interface ChunkStoreConformanceOptions extends SuiteOptions {
  /** Opens a store in this folder. Each check gets a folder of its own, empty at first. */
  open(stateDir: string): Promise<ChunkStore>;
  /**
   * True if a store that is opened again on the same folder finds its content. If it has `revision`, two stores may then be
   * open on one folder at the same time, and each sees the writes of the other.
   */
  reopens: boolean;
  /** Removes what the store of this folder keeps elsewhere, for example in a bucket. Called after each check. */
  removePlace?: ((stateDir: string) => Promise<void>) | undefined;
}

/**
 * Proves that a chunk store keeps its contract. The optional parts of the store and `reopens` decide which checks run; the
 * others are skipped with the reason.
 */
export function chunkStoreConformance(runner: TestRunner, options: ChunkStoreConformanceOptions): void {
  registerSuite(runner, {
    title: "chunk store",
    checks: [...scriptChecks, ...searchChecks, ...lifetimeChecks],
    options,
    async run(check) {
      const stateDir = await makeTempFolder("store");
      const open = (): Promise<ChunkStore> => options.open(stateDir);
      const lab = new StoreLab(await open(), open);
      try {
        for (const need of check.needs ?? [])
          if (!(await has(lab.store, need, options.reopens))) return `the store has no ${need}`;
        return await check.run(lab);
      } finally {
        await lab.close();
        await options.removePlace?.(stateDir);
        await removeTempFolder(stateDir);
      }
    },
  });
}

async function has(store: ChunkStore, need: StoreNeed, reopens: boolean): Promise<boolean> {
  if (need === "reopens") return reopens;
  if (need !== "embedded") return store[need] !== undefined;
  await store.replaceFiles([note("probe.md", "1")]);
  const [listed] = await store.listFiles();
  await store.removeFiles([note("probe.md")]);
  return listed?.embedded !== undefined;
}
