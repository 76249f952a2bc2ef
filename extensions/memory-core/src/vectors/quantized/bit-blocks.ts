import { hasTable, perGeneration, sqlOf } from "@memslot/indexing/ledger-tables";
import type Database from "better-sqlite3";
import { openKernel } from "../kernel/kernel.ts";
import { bitWidth, blockBytes, blockRows, checksumOf } from "./quantize-vector.ts";

/** Number of vectors from which bits are used. */
export const usualLeastForBits = 50_000;
export const bitsSuffix = "_bits";
/** The choice as bytes begins with `depth` and `vectors`. */
const headBytes = 8;
const alignment = 16;

export interface BitChoice {
  thresholds: Int8Array;
  /** Of `vectors`, the number compared by codes: the nearest by bits. */
  depth: number;
  vectors: number;
}

export function sumOfThresholds({ buffer, byteOffset, byteLength }: Int8Array): number {
  return checksumOf(new Uint8Array(buffer, byteOffset, byteLength));
}

export function bytesOfChoice({ thresholds, depth, vectors }: BitChoice): Uint8Array {
  const bytes = new Uint8Array(headBytes + thresholds.length);
  bytes.set(new Uint8Array(Int32Array.of(depth, vectors).buffer));
  bytes.set(new Uint8Array(thresholds.buffer, thresholds.byteOffset, thresholds.length), headBytes);
  return bytes;
}

export function choiceOf(bytes: Uint8Array | undefined): BitChoice | undefined {
  if (bytes === undefined || bytes.byteLength < headBytes) return undefined;
  const copy = new Uint8Array(bytes);
  const [depth = 0, vectors = 0] = new Int32Array(copy.buffer, 0, 2);
  if ((copy.byteLength - headBytes) % alignment !== 0 || vectors <= 0) return undefined;
  return { thresholds: new Int8Array(copy.buffer, headBytes), depth, vectors };
}

interface StoredBits {
  sum: number;
  bits: Buffer;
}

/** Source of the bits: checksums of the block's codes and of the thresholds. */
interface MadeOf {
  block: number;
  codesSum: number;
  thresholdsSum: number;
}

/**
 * `chunks_codes_…_bits`: bits of blocks, derived from codes and stored for the first search. Call inside a transaction.
 */
export interface BitBlocks {
  /** False until some were stored. `find` and `put` are only for a table that is there. */
  exists(): boolean;
  find(of: MadeOf): StoredBits | undefined;
  put(of: MadeOf, stored: StoredBits): void;
  /** Blocks of a codes table without bits, up to a limit. Creates the table and deletes rows of removed blocks. */
  missing(thresholdsSum: number, most: number): { block: number; codesSum: number }[];
}

/** `codeTable` names the table of the codes of a generation. */
export function createBitBlocks(
  db: Database.Database,
  codeTable: (generation: number) => string,
): (generation: number) => BitBlocks {
  return perGeneration((generation) => openBitBlocks(db, codeTable(generation)));
}

function openBitBlocks(db: Database.Database, codes: string): BitBlocks {
  const table = codes + bitsSuffix;
  const sql = sqlOf(db);
  const find = `SELECT sum, bits FROM ${table} WHERE block = ? AND codes_sum = ? AND thresholds_sum = ?`;
  return {
    exists: () => hasTable(db, table),
    find: ({ block, codesSum, thresholdsSum }) => sql.row(find, block, codesSum, thresholdsSum),
    put({ block, codesSum, thresholdsSum }, { sum, bits }) {
      const put = `INSERT OR REPLACE INTO ${table} (block, codes_sum, thresholds_sum, sum, bits) VALUES (?, ?, ?, ?, ?)`;
      sql.run(put, block, codesSum, thresholdsSum, sum, bits);
    },
    missing(thresholdsSum, most) {
      db.exec(createSql(table));
      sql.run(`DELETE FROM ${table} WHERE block NOT IN (SELECT block FROM ${codes}_slots)`);
      return sql.all(
        `SELECT s.block, s.sum AS codesSum FROM ${codes}_slots s LEFT JOIN ${table} b
          ON b.block = s.block AND b.codes_sum = s.sum AND b.thresholds_sum = ? WHERE b.block IS NULL LIMIT ?`,
        thresholdsSum,
        most,
      );
    },
  };
}

function createSql(table: string): string {
  return `
    CREATE TABLE IF NOT EXISTS ${table} (
      block INTEGER PRIMARY KEY,
      codes_sum INTEGER NOT NULL,
      thresholds_sum INTEGER NOT NULL,
      sum INTEGER NOT NULL,
      bits BLOB NOT NULL
    )
  `;
}

/** Gives the bits of the codes of a whole block; undefined if it is none. */
export type BitMaker = (codes: Uint8Array) => StoredBits | undefined;

export function createBitMaker(width: number, thresholds: Int8Array): BitMaker {
  const bits = bitWidth(width);
  const places = { rows: 0, thresholds: blockBytes(width), out: blockBytes(width) + width };
  const bytesOut = blockRows * bits;
  const kernel = openKernel(places.out + bytesOut);
  const bytes = kernel.bytes();
  bytes.set(thresholds, places.thresholds);
  return (codes) => {
    if (codes.byteLength !== blockBytes(width)) return undefined;
    bytes.set(codes, places.rows);
    bytes.fill(0, places.out, places.out + bytesOut);
    kernel.signs(places.rows, places.thresholds, places.out, blockRows, width, bits);
    return {
      sum: kernel.checksum(places.out, bytesOut),
      bits: Buffer.from(bytes.slice(places.out, places.out + bytesOut)),
    };
  };
}
