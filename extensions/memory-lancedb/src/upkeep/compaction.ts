import { setTimeout as pause } from "node:timers/promises";
import { Index, type Table } from "@lancedb/lancedb";
import { MemoryError, withDeadline } from "@memslot/core";
import type { Leases } from "../tables/leases.ts";
import { inMemoryAtMost } from "../tables/cached-file-listing.ts";

export interface CompactionSettings {
  afterMs: number;
  afterWrites: number;
  keepVersionsMs: number;
  othersMs: number;
}

export const folderCompaction: CompactionSettings = {
  afterMs: 3000,
  afterWrites: 100,
  keepVersionsMs: 120_000,
  othersMs: 90_000,
};

/** For places where each part of a table is a request, and readers may be slow. */
export const sharedCompaction: CompactionSettings = { ...folderCompaction, keepVersionsMs: 900_000 };
const closingMs = 60_000;

export const vectorIndexFrom = 5000;
const vectorsPerPartition = 6000;
/** Of the best 100 of each query, one bit a number finds 48, two find 81, four 99.7 (20,000 random vectors of 768 numbers). */
const bitsPerNumber = 4;
const trainingPasses = 10;
/** So many writes leave as many versions, each with its own files. */
const versionsBefore = 40;
/** Parts of a table, each of which a search opens. */
const partsBefore = 20;
/** The same for a table that is read at once, and the share of rows that may be outside its largest part. */
const partsInMemory = 8;
const restInMemory = 0.1;
/** Rows that are not indexed yet, which each search scans. Words cost more than vectors. */
const unindexedWordsBefore = 200;
const unindexedVectorsBefore = 1000;

interface Compaction {
  wrote(table: Table): void;
  close(): Promise<void>;
}

interface CompactionInput extends CompactionSettings {
  isShared: boolean;
  write(work: () => Promise<void>): Promise<void>;
  dropUnused(): Promise<void>;
  asOnlyHost: AsOnlyHost;
}

export function createCompaction(input: CompactionInput): Compaction {
  const touched = new Map<Table, number>();
  let writesSince = 0;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isClosed = false;

  async function work(): Promise<void> {
    const written = [...touched];
    touched.clear();
    writesSince = 0;
    await input.dropUnused();
    const due: typeof written = [];
    for (const each of written) if (each[0].isOpen() && (await isDue(...each, input.isShared))) due.push(each);
    if (due.length === 0) return;
    const isDone = await input.asOnlyHost(async () => {
      for (const [table] of due) {
        await table.checkoutLatest();
        await optimizeTable(table, input.keepVersionsMs);
      }
    });
    // The next write tries again.
    if (!isDone) for (const [table, writes] of due) touched.set(table, (touched.get(table) ?? 0) + writes);
  }

  function start(): Promise<void> {
    clearTimeout(timer);
    // No caller waits for it. After a failure, as when another process compacts, the next write tries again.
    return (running ??= input
      .write(work)
      .catch(() => undefined)
      .finally(() => (running = undefined)));
  }

  return {
    wrote(table) {
      touched.set(table, (touched.get(table) ?? 0) + 1);
      writesSince++;
      if (isClosed || running) return;
      if (writesSince >= input.afterWrites) return void start();
      clearTimeout(timer);
      timer = setTimeout(() => void start(), input.afterMs).unref();
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      const rest = async (): Promise<void> => {
        await running;
        if (touched.size > 0) await start();
      };
      await withDeadline({ what: "compacting", deadlineMs: closingMs }, rest).catch(() => undefined);
    },
  };
}

/** True if searches of the table are slower than necessary, or its folder is larger. */
async function isDue(table: Table, writes: number, isShared: boolean): Promise<boolean> {
  const version = await table.version();
  // The process that makes the fortieth version compacts, whichever processes made the others.
  if (Math.floor(version / versionsBefore) > Math.floor((version - writes) / versionsBefore)) return true;
  const { fragmentStats, numRows } = await table.stats();
  const { numFragments, lengths } = fragmentStats;
  if (isShared && numRows <= inMemoryAtMost)
    return numFragments >= partsInMemory || (numFragments > 1 && numRows - lengths.max > numRows * restInMemory);
  if (numFragments >= partsBefore) return true;
  if (await hasVectors(table))
    return numRows >= vectorIndexFrom && (await unindexed(table, "vector_idx")) >= unindexedVectorsBefore;
  return (await unindexed(table, "terms_idx")) >= unindexedWordsBefore;
}

async function hasVectors(table: Table): Promise<boolean> {
  return (await table.schema()).fields.some(({ name }) => name === "vector");
}

async function unindexed(table: Table, index: string): Promise<number> {
  return (await table.indexStats(index))?.numUnindexedRows ?? Number.POSITIVE_INFINITY;
}

/** Merges small files, indexes new rows, and deletes versions that are older. Searches go on meanwhile. */
export async function optimizeTable(table: Table, keepVersionsMs: number): Promise<void> {
  if (await hasVectors(table)) await indexVectors(table);
  await table.optimize({ cleanupOlderThan: new Date(Date.now() - keepVersionsMs) });
  if (keepVersionsMs === 0) await table.optimize({ cleanupOlderThan: new Date() });
}

/** Creates the index of the vectors once they are many: a few bits for each number. A search scores the best again exactly. */
async function indexVectors(table: Table): Promise<void> {
  const rows = await table.countRows();
  if (rows < vectorIndexFrom || (await table.indexStats("vector_idx")) !== undefined) return;
  const numPartitions = Math.max(1, Math.round(rows / vectorsPerPartition));
  const numBits = bitsPerNumber;
  const config = Index.ivfRq({ distanceType: "cosine", numPartitions, numBits, maxIterations: trainingPasses });
  await table.createIndex("vector", { config });
}

const askAgainMs = 500;

/** Runs work under the lease. Returns false if another host has it; with `waitMs` waits, and then throws `BUSY`. */
type AsOnlyHost = (work: () => Promise<void>, waitMs?: number) => Promise<boolean>;

export function onlyHost(
  leases: Pick<Leases, "acquire" | "holder" | "release"> | undefined,
  location: string,
): AsOnlyHost {
  return async (work, waitMs) => {
    const started = performance.now();
    if (leases === undefined) return work().then(() => true);
    while (!(await leases.acquire("compact", "compacting"))) {
      if (waitMs === undefined) return false;
      if (performance.now() - started >= waitMs) {
        const { pid, host, since } = (await leases.holder("compact")) ?? {};
        const who = pid === undefined ? "another host" : `process ${pid} on ${host ?? "another host"}`;
        const time = since === undefined ? "" : ` since ${since}`;
        throw new MemoryError("BUSY", `${who} is compacting the index ${location}${time}; try again when it has ended`);
      }
      await pause(askAgainMs);
    }
    try {
      await work();
      return true;
    } finally {
      await leases.release("compact").catch(() => undefined);
    }
  };
}
