import type { ChunkIndex } from "@memslot/indexing";
import { type Deviation, type TestRunner, chunkStoreConformance } from "@memslot/testkit";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildChecks } from "./checks/builds.ts";
import { factChecks } from "./checks/facts.ts";
import { leaseChecks } from "./checks/leases.ts";
import { pendingChecks } from "./checks/pending.ts";
import { quarantineChecks } from "./checks/quarantine.ts";
import { rowChecks } from "./checks/rows.ts";
import { spaceChecks } from "./checks/spaces.ts";
import { upkeepChecks } from "./checks/upkeep.ts";
import type { IndexCheck, IndexNeed } from "./lab.ts";
import { type HashTable, storeOfIndex } from "./store-of-index.ts";

export interface ChunkIndexConformanceOptions {
  /** Opens an index that keeps what it keeps under this folder. Each check gets a folder of its own, empty at first. */
  open(stateDir: string): Promise<ChunkIndex>;
  /**
   * True when an index that is opened again on the same folder finds what it held before. Then a second one may be open on
   * the folder at the same time, and sees what the first one writes.
   */
  reopens: boolean;
  /** Checks that are known to fail, each with the reason. */
  deviations?: readonly Deviation[] | undefined;
}

const checks: readonly IndexCheck[] = [
  ...rowChecks,
  ...factChecks,
  ...pendingChecks,
  ...spaceChecks,
  ...quarantineChecks,
  ...buildChecks,
  ...leaseChecks,
  ...upkeepChecks,
];
const checkTimeoutMs = 180_000;

/**
 * Proves that a whole index keeps its contract: what it promises as a store by the checks for stores, and what it promises
 * above them by checks of its own.
 */
export function chunkIndexConformance(runner: TestRunner, options: ChunkIndexConformanceOptions): void {
  const { open, reopens, deviations = [] } = options;
  const hashes: HashTable = new Map();
  const isOwn = ({ test }: Deviation): boolean => checks.some(({ name }) => name === test);
  chunkStoreConformance(runner, {
    open: async (stateDir) => storeOfIndex(await open(stateDir), hashes),
    reopens,
    deviations: deviations.filter((deviation) => !isOwn(deviation)),
  });
  const reasons = new Map(deviations.map(({ test, reason }) => [test, reason]));
  runner.describe("chunk index", () => {
    for (const check of checks) {
      runner.test(check.name, { timeout: checkTimeoutMs }, async (context) => {
        const reason = reasons.get(check.name) ?? (await runCheck(check, options));
        if (reason !== undefined) context.skip(reason);
      });
    }
  });
}

async function runCheck(
  check: IndexCheck,
  { open, reopens }: ChunkIndexConformanceOptions,
): Promise<string | undefined> {
  const stateDir = await realpath(await mkdtemp(join(tmpdir(), "memslot-index-")));
  let index = await open(stateDir);
  const beside: ChunkIndex[] = [];
  const has = (need: IndexNeed): boolean => (need === "reopens" ? reopens : index[need] !== undefined);
  try {
    const missing = check.needs?.find((need) => !has(need));
    if (missing !== undefined) return `the index says that it has no ${missing}`;
    await check.run({
      index,
      async reopen() {
        await index.close();
        index = await open(stateDir);
        return index;
      },
      async openBeside() {
        const other = await open(stateDir);
        beside.push(other);
        return other;
      },
    });
  } finally {
    for (const other of beside) await other.close();
    await index.close();
    await rm(stateDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
  return undefined;
}
