import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Index, type Table } from "@lancedb/lancedb";
import { MemoryError } from "@memslot/core";
import type { LancePlace } from "../place/place.ts";
import { inMemoryAtMost } from "../tables/listing.ts";

export interface TidySettings {
  /** How long after a write, if no other follows. */
  afterMs: number;
  /** Writes after which it is not put off any longer. */
  afterWrites: number;
  /** Versions of a table that readers of other processes may still be at. */
  keepVersionsMs: number;
  /** How long closing waits for it. */
  closingMs: number;
  /** A table of at most so many rows is read at once and kept in memory. */
  inMemoryAtMost: number;
  /** How long whoever asks for it waits where another host does it just now. */
  othersMs: number;
}

export const usualTidying: TidySettings = {
  afterMs: 3000,
  afterWrites: 100,
  keepVersionsMs: 120_000,
  closingMs: 60_000,
  inMemoryAtMost: 0,
  // Longer than a host that has died keeps the right to it.
  othersMs: 90_000,
};

/** Where each part of a table is a request, and readers may be slow. */
export const sharedTidying: TidySettings = { ...usualTidying, keepVersionsMs: 900_000, inMemoryAtMost };

/** From this many vectors on, comparing with all of them takes longer than asking an index. */
export const vectorIndexFrom = 5000;
/** Few, as a search looks at all of them: they only say where new vectors go. */
const vectorsPerPartition = 6000;
/**
 * Bits for each number. Measured with 20,000 vectors of 768 numbers in all directions, of the best 100 of each query: one
 * bit finds 48 of 100, two find 81, four find 99.7, in about the same time (`refineFactor` 2, on 2 cores).
 */
const bitsPerNumber = 4;
/** Passes over the sample that the partitions are found from. */
const trainingPasses = 10;
/** So many writes leave as many versions, each with files of its own. */
const versionsBefore = 40;
/** A search opens each of these. */
const partsBefore = 20;
/** Whoever reads a whole table opens each of these, and what lies outside the largest is small files. */
const partsInMemory = 8;
const restInMemory = 0.1;
/** Rows that a search looks at one by one, as no index has them yet. Words cost more than vectors, and each word anew. */
const unindexedWordsBefore = 200;
const unindexedVectorsBefore = 1000;

/** Keeps tables small and searches fast, behind the work that somebody waits for. */
export interface Tidy {
  /** Something was written to the table. */
  wrote(table: Table): void;
  /** Does what is due, within bounds, and nothing any more afterwards. */
  close(): Promise<void>;
}

/** What a tidy is made of. */
interface TidyParts {
  /** Makes work a write. */
  run: (work: () => Promise<void>) => Promise<void>;
  /** Done before the tables are looked at. */
  first: () => Promise<void>;
  asOnlyHost: AsOnlyHost;
}

export function createTidy(settings: TidySettings, { run, first, asOnlyHost }: TidyParts): Tidy {
  const touched = new Map<Table, number>();
  let writesSince = 0;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isClosed = false;

  async function work(): Promise<void> {
    const due = [...touched];
    touched.clear();
    writesSince = 0;
    await first();
    const wanting: typeof due = [];
    for (const each of due) if (each[0].isOpen() && (await isDue(...each, settings))) wanting.push(each);
    if (wanting.length === 0) return;
    const isDone = await asOnlyHost(async () => {
      for (const [table] of wanting) {
        // Another host may have done it a moment ago.
        await table.checkoutLatest();
        await optimizeTable(table, settings.keepVersionsMs);
      }
    });
    // What is left is looked at with the next write.
    if (!isDone) for (const [table, writes] of wanting) touched.set(table, (touched.get(table) ?? 0) + writes);
  }

  function start(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    // Nobody waits for it. What fails, as where another process does the same, is brought up by the next write.
    return (running ??= run(work)
      .catch(() => undefined)
      .finally(() => (running = undefined)));
  }

  return {
    wrote(table) {
      touched.set(table, (touched.get(table) ?? 0) + 1);
      writesSince++;
      if (isClosed || running) return;
      if (writesSince >= settings.afterWrites) return void start();
      clearTimeout(timer);
      timer = setTimeout(() => void start(), settings.afterMs).unref();
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      const rest = (async () => {
        await running;
        if (touched.size > 0) await start();
      })();
      let enough: NodeJS.Timeout | undefined;
      const bound = new Promise<void>((resolve) => (enough = setTimeout(resolve, settings.closingMs)));
      await Promise.race([rest, bound]);
      clearTimeout(enough);
    },
  };
}

/** True when searches of the table have become slower than they need be, or its folder larger. */
async function isDue(table: Table, writes: number, settings: TidySettings): Promise<boolean> {
  const version = await table.version();
  // Whoever makes the fortieth version, whichever process made the others.
  if (Math.floor(version / versionsBefore) > Math.floor((version - writes) / versionsBefore)) return true;
  const { fragmentStats, numRows } = await table.stats();
  const { numFragments, lengths } = fragmentStats;
  if (numRows <= settings.inMemoryAtMost)
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
  const stats = await table.indexStats(index);
  return stats === undefined ? Number.POSITIVE_INFINITY : stats.numUnindexedRows;
}

/**
 * Puts small files together, takes new rows into the indices, and deletes versions that are older than this. Searches go
 * on meanwhile.
 */
export async function optimizeTable(table: Table, keepVersionsMs: number): Promise<void> {
  if (await hasVectors(table)) await indexVectors(table);
  await table.optimize({ cleanupOlderThan: new Date(Date.now() - keepVersionsMs) });
  // Once more, as it has made versions itself.
  if (keepVersionsMs === 0) await table.optimize({ cleanupOlderThan: new Date() });
}

/**
 * Makes the index of the vectors where there is none and enough to gain: a few bits for each number, of all vectors. A
 * search looks at all of these and scores the best again from the exact numbers.
 */
async function indexVectors(table: Table): Promise<void> {
  const rows = await table.countRows();
  if (rows < vectorIndexFrom || (await table.indexStats("vector_idx")) !== undefined) return;
  const numPartitions = Math.max(1, Math.round(rows / vectorsPerPartition));
  const numBits = bitsPerNumber;
  const config = Index.ivfRq({ distanceType: "cosine", numPartitions, numBits, maxIterations: trainingPasses });
  await table.createIndex("vector", { config });
}

/** Bytes of all files below a folder. Files that go meanwhile count for nothing. */
export async function folderBytes(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => [])) {
    if (!entry.isFile()) continue;
    const found = await stat(join(entry.parentPath, entry.name)).catch(() => undefined);
    bytes += found?.size ?? 0;
  }
  return bytes;
}

const askAgainMs = 500;

/**
 * Runs work that only one host at a time does where several share a place. Where another one is at it, gives false and does
 * nothing; with `waitMs` it waits so long for its end, and then throws `BUSY`, naming it.
 */
export type AsOnlyHost = (work: () => Promise<void>, waitMs?: number) => Promise<boolean>;

export function onlyHost({ leases, location }: Pick<LancePlace, "leases" | "location">): AsOnlyHost {
  return async (work, waitMs) => {
    if (!leases) {
      await work();
      return true;
    }
    const started = performance.now();
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
      // Where the place does not answer it ends by itself.
      await leases.release("compact").catch(() => undefined);
    }
  };
}
