import { Index, type Table } from "@lancedb/lancedb";

/** From this many vectors on, comparing with all of them takes longer than asking an index. */
export const vectorIndexFrom = 5000;
/** From this many rows on, the rows of some ids are looked up in an index. */
const idIndexFrom = 5000;
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
const fragmentsBefore = 20;
/** Rows that a search looks at one by one, as no index has them yet. Words cost more than vectors, and each word anew. */
const unindexedWordsBefore = 200;
const unindexedVectorsBefore = 1000;

export interface OptimizeOptions {
  /** Versions that are older than this many milliseconds are deleted, with what only they hold. */
  keepVersionsMs: number;
  /** Nobody else is at work: also what was begun and never ended is deleted. */
  isAlone: boolean;
}

/**
 * True when searches of the table have become slower than they need be, or its folder larger. `tidied` is the version
 * after which it was optimized last.
 */
export async function isDue(table: Table, tidied: number | undefined): Promise<boolean> {
  if ((await table.version()) - (tidied ?? 0) >= versionsBefore) return true;
  const { fragmentStats, numRows } = await table.stats();
  if (fragmentStats.numFragments >= fragmentsBefore) return true;
  const columns = new Set((await table.schema()).fields.map(({ name }) => name));
  if (columns.has("vector") && numRows >= vectorIndexFrom)
    return (await unindexed(table, "vector_idx")) >= unindexedVectorsBefore;
  return columns.has("terms") && (await unindexed(table, "terms_idx")) >= unindexedWordsBefore;
}

async function unindexed(table: Table, index: string): Promise<number> {
  const stats = await table.indexStats(index);
  return stats === undefined ? Number.POSITIVE_INFINITY : stats.numUnindexedRows;
}

/** Puts small files together, takes new rows into the indices, and deletes old versions. Searches go on meanwhile. */
export async function optimizeTable(table: Table, { keepVersionsMs, isAlone }: OptimizeOptions): Promise<void> {
  await indexVectors(table);
  await indexIds(table);
  await table.optimize();
  // Apart from it and later, as optimizing makes versions itself.
  const cleanupOlderThan = new Date(Date.now() - keepVersionsMs);
  await table.optimize({ cleanupOlderThan, deleteUnverified: isAlone });
}

/**
 * Makes the index of the vectors where there is none and enough to gain: a few bits for each number, of all vectors. A
 * search looks at all of these and scores the best again from the exact numbers.
 */
async function indexVectors(table: Table): Promise<void> {
  const { fields } = await table.schema();
  if (!fields.some(({ name }) => name === "vector")) return;
  const rows = await table.countRows();
  if (rows < vectorIndexFrom || (await table.indexStats("vector_idx")) !== undefined) return;
  const numPartitions = Math.max(1, Math.round(rows / vectorsPerPartition));
  const config = Index.ivfRq({
    distanceType: "cosine",
    numPartitions,
    numBits: bitsPerNumber,
    maxIterations: trainingPasses,
  });
  await table.createIndex("vector", { config });
}

/** The texts of what a search has found are read by their ids: in a large table not by looking at all of it. */
async function indexIds(table: Table): Promise<void> {
  const { fields } = await table.schema();
  if (!fields.some(({ name }) => name === "terms")) return;
  if ((await table.countRows()) < idIndexFrom || (await table.indexStats("id_idx")) !== undefined) return;
  await table.createIndex("id", { config: Index.btree() });
}
