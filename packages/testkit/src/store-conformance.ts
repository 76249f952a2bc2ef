import type { ChunkStore } from "@memslot/indexing";
import { makeTempFolder, removeTempFolder } from "./helpers/temp-folder.ts";
import { type Deviation, type TestRunner, registerSuite } from "./runner.ts";
import { buildChecks } from "./store/builds.ts";
import { fileChecks } from "./store/files.ts";
import { keywordChecks } from "./store/keyword.ts";
import { type StoreCheck, type StoreNeed, fileOf } from "./store/lab.ts";
import { lifecycleChecks } from "./store/lifecycle.ts";
import { pieceChecks } from "./store/pieces.ts";
import { revisionChecks } from "./store/revision.ts";
import { scopeCountChecks } from "./store/scope-counts.ts";
import { scopeChecks } from "./store/scopes.ts";
import { statsChecks } from "./store/stats.ts";
import { tailChecks } from "./store/tails.ts";
import { termChecks } from "./store/terms.ts";
import { textChecks } from "./store/texts.ts";
import { buildVectorChecks } from "./store/vectors/build-vectors.ts";
import { embeddedChecks } from "./store/vectors/embedded.ts";
import { keptVectorChecks } from "./store/vectors/kept-vectors.ts";
import { spaceChecks } from "./store/vectors/spaces.ts";
import { vectorChecks } from "./store/vectors/vectors.ts";

export interface ChunkStoreConformanceOptions {
  /** Opens a store that keeps what it keeps under this folder. Each check gets a folder of its own, empty at first. */
  open(stateDir: string): Promise<ChunkStore>;
  /**
   * True when a store that is opened again on the same folder finds what it held before. Where it has `revision`, a second
   * store may then be open on the folder at the same time, and each sees what the other one writes.
   */
  reopens: boolean;
  /** Checks that are known to fail, each with the reason. */
  deviations?: readonly Deviation[] | undefined;
}

/**
 * Proves that a chunk store keeps its contract. Which checks run is decided by the optional parts that the store has, and
 * by `reopens`; the others are skipped with the reason.
 */
export function chunkStoreConformance(runner: TestRunner, options: ChunkStoreConformanceOptions): void {
  registerSuite(runner, {
    title: "chunk store",
    checks: [
      ...fileChecks,
      ...tailChecks,
      ...pieceChecks,
      ...keywordChecks,
      ...termChecks,
      ...textChecks,
      ...vectorChecks,
      ...keptVectorChecks,
      ...spaceChecks,
      ...embeddedChecks,
      ...scopeChecks,
      ...scopeCountChecks,
      ...lifecycleChecks,
      ...statsChecks,
      ...revisionChecks,
      ...buildChecks,
      ...buildVectorChecks,
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
  const beside: ChunkStore[] = [];
  try {
    for (const need of check.needs ?? [])
      if (!(await has(store, need, reopens))) return `the store says that it has no ${need}`;
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

async function has(store: ChunkStore, need: StoreNeed, reopens: boolean): Promise<boolean> {
  if (need === "reopens") return reopens;
  if (need !== "embedded") return store[need] !== undefined;
  await store.replaceFiles([fileOf("probe.md", ["1"])]);
  const [listed] = await store.listFiles();
  await store.removeFiles([fileOf("probe.md", [])]);
  return listed?.embedded !== undefined;
}
