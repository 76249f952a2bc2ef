import type { ChunkIndex } from "@memslot/indexing";
import { type Deviation, type TestRunner, registerSuite } from "./runner.ts";
import { buildVectorChecks } from "./store/vectors/build-vectors.ts";
import { buildChecks } from "./store/builds.ts";
import { fileChecks } from "./store/files.ts";
import { keywordChecks } from "./store/keyword.ts";
import type { StoreCheck, StoreNeed } from "./store/lab.ts";
import { leaseChecks } from "./store/leases.ts";
import { lifecycleChecks } from "./store/lifecycle.ts";
import { pendingChecks } from "./store/vectors/pending.ts";
import { quarantineChecks } from "./store/vectors/quarantine.ts";
import { revisionChecks } from "./store/revision.ts";
import { scopeCountChecks } from "./store/scope-counts.ts";
import { scopeChecks } from "./store/scopes.ts";
import { spaceChecks } from "./store/vectors/spaces.ts";
import { tailChecks } from "./store/tails.ts";
import { termChecks } from "./store/terms.ts";
import { textChecks } from "./store/texts.ts";
import { upkeepChecks } from "./store/upkeep.ts";
import { vectorChecks } from "./store/vectors/vectors.ts";
import { makeTempFolder, removeTempFolder } from "./helpers/temp-folder.ts";

export interface ChunkIndexConformanceOptions {
  /** Opens a store that keeps what it keeps under this folder. Each check gets a folder of its own, empty at first. */
  open(stateDir: string): Promise<ChunkIndex>;
  /**
   * True when a store that is opened again on the same folder finds what it held before. Then a second store may be
   * open on the folder at the same time, and sees what the first one writes.
   */
  reopens: boolean;
  /** Checks that are known to fail, each with the reason. */
  deviations?: readonly Deviation[] | undefined;
}

/**
 * Proves that a chunk store keeps its contract. Which checks run is decided by what the store says of itself in
 * `health()`, by the optional parts that it has, and by `reopens`; the others are skipped with the reason.
 */
export function chunkIndexConformance(runner: TestRunner, options: ChunkIndexConformanceOptions): void {
  registerSuite(runner, {
    title: "chunk store",
    checks: [
      ...fileChecks,
      ...tailChecks,
      ...keywordChecks,
      ...termChecks,
      ...textChecks,
      ...vectorChecks,
      ...pendingChecks,
      ...spaceChecks,
      ...quarantineChecks,
      ...scopeChecks,
      ...scopeCountChecks,
      ...lifecycleChecks,
      ...revisionChecks,
      ...buildChecks,
      ...buildVectorChecks,
      ...leaseChecks,
      ...upkeepChecks,
    ],
    deviations: options.deviations,
    run: (check) => runStoreCheck(check, options),
  });
}

async function runStoreCheck(
  check: StoreCheck,
  { open, reopens }: ChunkIndexConformanceOptions,
): Promise<string | undefined> {
  const stateDir = await makeTempFolder("store");
  let store = await open(stateDir);
  const beside: ChunkIndex[] = [];
  try {
    const missing = check.needs?.find((need) => !abilitiesOf(store, reopens)[need]);
    if (missing !== undefined) return `the store says that it has no ${missing}`;
    await check.run({
      store,
      async reopen() {
        await store.close();
        store = await open(stateDir);
        return store;
      },
      async openBeside() {
        const other = await open(stateDir);
        beside.push(other);
        return other;
      },
    });
  } finally {
    for (const other of beside) await other.close();
    await store.close();
    await removeTempFolder(stateDir);
  }
  return undefined;
}

function abilitiesOf(store: ChunkIndex, reopens: boolean): Record<StoreNeed, boolean> {
  const { fts, vector } = store.health();
  return {
    keyword: fts.enabled,
    vector: vector.enabled,
    reopens,
    revision: store.revision !== undefined,
    builds: store.builds !== undefined,
    leases: store.leases !== undefined,
    upkeep: store.upkeep !== undefined,
  };
}
