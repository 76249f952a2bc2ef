import type { ChunkStore } from "@memslot/indexing";
import { type Deviation, type TestRunner, registerSuite } from "./runner.ts";
import { fileChecks } from "./store/files.ts";
import { keywordChecks } from "./store/keyword.ts";
import type { StoreCheck, StoreNeed } from "./store/lab.ts";
import { lifecycleChecks } from "./store/lifecycle.ts";
import { pendingChecks } from "./store/pending.ts";
import { quarantineChecks } from "./store/quarantine.ts";
import { spaceChecks } from "./store/spaces.ts";
import { termChecks } from "./store/terms.ts";
import { vectorChecks } from "./store/vectors.ts";
import { makeTempFolder, removeTempFolder } from "./temp-folder.ts";

export interface ChunkStoreConformanceOptions {
  /** Opens a store that keeps what it keeps under this folder. Each check gets a folder of its own, empty at first. */
  open(stateDir: string): Promise<ChunkStore>;
  /** True when a store that is opened again on the same folder finds what it held before. */
  reopens: boolean;
  /** Checks that are known to fail, each with the reason. */
  deviations?: readonly Deviation[] | undefined;
}

/**
 * Proves that a chunk store keeps its contract. Which checks run is decided by what the store says of itself in
 * `health()` and by `reopens`.
 */
export function chunkStoreConformance(runner: TestRunner, options: ChunkStoreConformanceOptions): void {
  registerSuite(runner, {
    title: "chunk store",
    checks: [
      ...fileChecks,
      ...keywordChecks,
      ...termChecks,
      ...vectorChecks,
      ...pendingChecks,
      ...spaceChecks,
      ...quarantineChecks,
      ...lifecycleChecks,
    ],
    deviations: options.deviations,
    run: (check) => runStoreCheck(check, options),
  });
}

async function runStoreCheck(
  check: StoreCheck,
  { open, reopens }: ChunkStoreConformanceOptions,
): Promise<string | undefined> {
  const stateDir = await makeTempFolder("store");
  let store = await open(stateDir);
  try {
    const { fts, vector } = store.health();
    const abilities: Record<StoreNeed, boolean> = { keyword: fts.enabled, vector: vector.enabled, reopens };
    const missing = check.needs?.find((need) => !abilities[need]);
    if (missing !== undefined) return `the store says that it has no ${missing}`;
    await check.run({
      store,
      async reopen() {
        await store.close();
        store = await open(stateDir);
        return store;
      },
    });
  } finally {
    await store.close();
    await removeTempFolder(stateDir);
  }
  return undefined;
}
