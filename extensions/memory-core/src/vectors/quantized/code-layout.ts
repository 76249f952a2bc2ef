import {
  type EmbeddedChunks,
  isBusy,
  isFileFailure,
  type KnownSpace,
  type LedgerBase,
  metaKeys,
  toVector,
} from "@memslot/indexing/ledger-tables";
import type Database from "better-sqlite3";
import { type BitBlocks, createBitBlocks, createBitMaker, sumOfThresholds, usualLeastForBits } from "./bit-blocks.ts";
import { chooseBits, isOutgrown } from "./choose-bits.ts";
import { codeTable, type CodeTables, createCodeTables, type TailRow } from "./code-tables.ts";
import { blockRows, checksumOf, differenceOf, encodeVector } from "./quantize-vector.ts";

/** Surplus blocks, beyond twice the required number, that cause a rebuild of the codes. */
const spareBlocks = 8;
const leastForMean = blockRows;
const sampledForMean = 1024;
const storedAtOnce = 64;
/** More vectors are not counted before a search. */
const countedAtOnce = 20_000;

/** Codes of one space per generation. The space is recorded in `meta`; without that record codes are not used. */
export interface CodeLayout {
  tables(generation: number): CodeTables;
  bitBlocks(generation: number): BitBlocks;
  held(generation: number): number | undefined;
  named(generation: number): number | undefined;
  /** Codes this space unless done. Call outside of transactions. */
  settle(generation: number, space: KnownSpace, chunks: Pick<EmbeddedChunks, "countEmbedded">): void;
  /** Rebuilds the codes. False if another process is writing. */
  layOutAnew(generation: number, space: KnownSpace): boolean;
  /** Updates codes inside a transaction, or marks them as unreliable. */
  put(generation: number, chunk: Omit<TailRow, "file" | "code">, vector: Float32Array): void;
  remove(generation: number, id: number): void;
  /** Whether codes and vectors agree in number. Call inside a transaction. */
  isWhole(generation: number, chunks: Pick<EmbeddedChunks, "countEmbedded">): boolean;
  /** Whether codes lack a mean although there are enough vectors. Call inside a transaction. */
  lacksMean(generation: number): boolean;
  /** Chooses bit parameters if there are enough vectors. Call outside of transactions. */
  chooseBits(generation: number): void;
  /** Stores bits of some blocks, outside of transactions. False: complete. Undefined: another process writes. */
  storeBits(generation: number): boolean | undefined;
  /** Deletes the layout of a generation inside a transaction. True: something was deleted. */
  drop(generation: number): boolean;
  holds(generation: number): boolean;
}

/** True if there are many more blocks than vectors need. */
export function hasManyHoles({ rows, blocks }: { rows: number; blocks: number }): boolean {
  return blocks > 2 * Math.ceil(rows / blockRows) + spareBlocks;
}

export function hasHoles({ rows, blocks }: { rows: number; blocks: number }): boolean {
  return blocks > Math.ceil(rows / blockRows);
}

export function createCodeLayout(
  input: LedgerBase & {
    leastForBits?: number | undefined;
  },
): CodeLayout {
  const { db, meta, transactions, generations, leastForBits = usualLeastForBits } = input;
  const tables = createCodeTables(db);
  const bitBlocks = createBitBlocks(db, codeTable);
  const fileOf = db.prepare<[number], number>("SELECT file_id FROM chunks WHERE id = ?").pluck();
  const spaceKey = (generation: number): string => `${metaKeys.vectorSpace}${generation}`;

  function named(generation: number): number | undefined {
    const id = meta.get(spaceKey(generation));
    return id === undefined ? undefined : Number(id);
  }

  function held(generation: number): number | undefined {
    const id = named(generation);
    return id !== undefined && tables(generation).exists() ? id : undefined;
  }

  function rebuild(generation: number, { id, dimensions }: KnownSpace): void {
    // Another process may have activated the next generation.
    if (!generations.live().includes(generation)) return;
    const table = tables(generation);
    table.create();
    fill({ db, generation, spaceId: id, dimensions, table });
    meta.set(spaceKey(generation), String(id));
  }

  function layOutAnew(generation: number, space: KnownSpace): boolean {
    try {
      transactions.write(() => rebuild(generation, space));
      return true;
    } catch (error) {
      if (!isBusy(error)) throw error;
      return false;
    }
  }

  /** Work on codes must not fail the call: they can be rebuilt. */
  function follow(generation: number, work: (table: CodeTables) => void): void {
    try {
      work(tables(generation));
    } catch (error) {
      if (isFileFailure(error)) throw error;
      meta.delete(spaceKey(generation));
    }
  }

  function isWhole(generation: number, chunks: Pick<EmbeddedChunks, "countEmbedded">): boolean {
    const spaceId = held(generation);
    if (spaceId === undefined) return false;
    const table = tables(generation);
    const { rows } = table.size();
    return rows === chunks.countEmbedded(spaceId, generation) && rows === countSlots(table);
  }

  function makeBits(generation: number): boolean {
    const table = tables(generation);
    const width = table.width();
    const thresholds = table.bits()?.thresholds;
    if (held(generation) === undefined || width === undefined || thresholds?.length !== width) return false;
    const thresholdsSum = sumOfThresholds(thresholds);
    const missing = bitBlocks(generation).missing(thresholdsSum, storedAtOnce);
    if (missing.length === 0) return false;
    const make = createBitMaker(width, thresholds);
    for (const { block, codesSum } of missing) {
      const codes = table.codes(block);
      // Damage is detected by searches.
      const made = codes && checksumOf(new Uint8Array(codes)) === codesSum ? make(codes) : undefined;
      if (made === undefined) return false;
      bitBlocks(generation).put({ block, codesSum, thresholdsSum }, made);
    }
    return missing.length === storedAtOnce;
  }

  return {
    tables,
    bitBlocks,
    held,
    named,
    settle(generation, space, chunks) {
      const isSettled = transactions.read(() => {
        if (held(generation) !== space.id) return false;
        const size = tables(generation).size();
        if (hasManyHoles(size)) return false;
        return size.rows > countedAtOnce || isWhole(generation, chunks);
      });
      if (!isSettled) layOutAnew(generation, space);
    },
    layOutAnew,
    put(generation, { id, source }, vector) {
      follow(generation, (table) =>
        table.put({ id, source, file: fileOf.get(id) ?? 0, code: encodeVector(vector, table.mean()) }),
      );
    },
    remove(generation, id) {
      if (named(generation) !== undefined) follow(generation, (table) => table.remove(id));
    },
    isWhole,
    lacksMean: (generation) =>
      tables(generation).mean() === undefined && tables(generation).size().rows >= leastForMean,
    chooseBits(generation) {
      const wants = (): number | undefined => {
        const table = tables(generation);
        if (held(generation) === undefined) return undefined;
        const { rows } = table.size();
        const before = table.bits();
        return rows >= leastForBits && (!before || isOutgrown(before, rows)) ? table.width() : undefined;
      };
      // Measured before taking the write lock.
      const chosen = transactions.read(() => {
        const width = wants();
        return width === undefined ? undefined : { width, choice: chooseBits(tables(generation), width) };
      });
      if (!chosen) return;
      transactions.writeIfFree(() => {
        if (wants() === chosen.width) tables(generation).setBits(chosen.choice);
      });
    },
    storeBits: (generation) => transactions.writeIfFree(() => makeBits(generation)),
    drop(generation) {
      meta.delete(spaceKey(generation));
      const hasAny = tables(generation).hasAny();
      tables(generation).drop();
      return hasAny;
    },
    holds: (generation) => tables(generation).hasAny(),
  };
}

function countSlots(table: CodeTables): number {
  const inBlocks = table.versions().reduce((sum, { block }) => {
    const ids = table.slots(block)?.ids ?? new Int32Array(0);
    return sum + ids.reduce((count, id) => count + (id === 0 ? 0 : 1), 0);
  }, 0);
  return inBlocks + table.tail().length;
}

/** The mean of some of them, each in the length 1. */
function meanOf(
  embedded: readonly EmbeddedRow[],
  dimensions: number,
  read: (vectorId: number) => Float32Array | undefined,
): Float32Array {
  const sums = new Float64Array(dimensions);
  const step = Math.max(1, Math.floor(embedded.length / sampledForMean));
  let count = 0;
  for (let at = 0; at < embedded.length; at += step) {
    const vector = read(embedded[at]?.[3] ?? 0);
    if (vector === undefined || vector.every((value) => value === 0)) continue;
    count++;
    for (const [index, value] of differenceOf(vector, undefined).entries())
      sums[index] = (sums[index] as number) + value;
  }
  return Float32Array.from(sums, (sum) => (count === 0 ? 0 : sum / count));
}

type EmbeddedRow = [id: number, file: number, source: string, vectorId: number];

function fill(input: {
  db: Database.Database;
  generation: number;
  spaceId: number;
  dimensions: number;
  table: CodeTables;
}): void {
  const { db, generation, spaceId, dimensions, table } = input;
  const embedded = db
    .prepare<[number, number], EmbeddedRow>(`
      SELECT c.id, c.file_id, f.source, e.vector_id FROM chunks c INDEXED BY chunks_by_hash
      CROSS JOIN files f ON f.id = c.file_id AND f.generation = ?
      CROSS JOIN embedding_cache e ON e.hash = c.hash AND e.space_id = ?
    `)
    .raw()
    .all(generation, spaceId) as EmbeddedRow[];
  const numbers = db.prepare<[number], Buffer>("SELECT embedding FROM vectors WHERE id = ?").pluck();
  const read = (vectorId: number): Float32Array | undefined => {
    const bytes = numbers.get(vectorId);
    return bytes?.byteLength === dimensions * Float32Array.BYTES_PER_ELEMENT ? toVector(bytes) : undefined;
  };
  const mean = embedded.length < leastForMean ? undefined : meanOf(embedded, dimensions, read);
  if (mean) table.setMean(mean);
  const waiting = new Map<string, TailRow[]>();
  for (const [id, file, source, vectorId] of embedded.toSorted((left, right) => left[3] - right[3])) {
    const vector = read(vectorId);
    if (vector === undefined) continue;
    const rows = waiting.get(source) ?? [];
    waiting.set(source, rows);
    rows.push({ id, source, file, code: encodeVector(vector, mean) });
    if (rows.length === blockRows) table.fill(source, rows.splice(0));
  }
  for (const [source, rows] of waiting) table.fill(source, rows);
}
