import type { MemorySource } from "@memslot/core";
import { hasTable, perGeneration, sqlOf } from "@memslot/indexing/ledger-tables";
import type Database from "better-sqlite3";
import { type BitChoice, bitsSuffix, bytesOfChoice, choiceOf } from "./bit-blocks.ts";
import { blockRows, checksumOf, packRows, widthOf } from "./quantize-vector.ts";

export function codeTable(generation: number): string {
  return `chunks_codes_${generation}`;
}

const suffixes = ["", "_slots", "_places", "_tail"] as const;

const largestId = 2 ** 31 - 1;
const meanBlock = -1;
const thresholdsBlock = 0;

export interface BlockSlots {
  block: number;
  source: MemorySource;
  version: number;
  /** Of the codes, which never change. */
  sum: number;
  ids: Int32Array;
  files: Int32Array;
}

export interface TailRow {
  id: number;
  source: MemorySource;
  file: number;
  code: Uint8Array;
}

/**
 * `chunks_codes_…`: int8 codes of one space in blocks of 256 per source, rebuilt from vectors on demand. `_slots`:
 * chunks of a block; `_places`: block of a chunk; `_tail`: codes without a block yet. Call inside a transaction.
 */
export interface CodeTables {
  exists(): boolean;
  hasAny(): boolean;
  create(): void;
  drop(): void;
  /** Replaces the vector of the chunk. */
  put(row: TailRow): void;
  fill(source: MemorySource, rows: readonly TailRow[]): void;
  remove(id: number): void;
  size(): { rows: number; blocks: number };
  width(): number | undefined;
  versions(): { block: number; version: number }[];
  slots(block: number): BlockSlots | undefined;
  tail(): TailRow[];
  codes(block: number): Buffer | undefined;
  mean(): Float32Array | undefined;
  setMean(mean: Float32Array): void;
  bits(): BitChoice | undefined;
  setBits(choice: BitChoice): void;
}

export function createCodeTables(db: Database.Database): (generation: number) => CodeTables {
  return perGeneration((generation) => openCodeTables(db, codeTable(generation)));
}

type StoredSlots = Omit<BlockSlots, "ids" | "files"> & { ids: Buffer; files: Buffer };

function openCodeTables(db: Database.Database, table: string): CodeTables {
  const sql = sqlOf(db);
  const selectCodes = `SELECT codes FROM ${table} WHERE block = ?`;
  const selectSlots = `SELECT block, source, version, sum, ids, files FROM ${table}_slots WHERE block = ?`;
  const insertPlace = `INSERT INTO ${table}_places (id, block, source, file) VALUES (?, ?, ?, ?)`;
  const deleteWaiting = `DELETE FROM ${table}_tail WHERE id = ?`;
  const selectWaiting = `SELECT p.id, p.source, p.file, t.code FROM ${table}_places p INDEXED BY ${table}_waiting
    CROSS JOIN ${table}_tail t ON t.id = p.id WHERE p.block IS NULL`;

  function drop(): void {
    for (const suffix of [...suffixes, bitsSuffix]) db.exec(`DROP TABLE IF EXISTS ${table}${suffix}`);
  }

  const codes = (block: number): Buffer | undefined => sql.value(selectCodes, block);

  function setCodes(block: number, bytes: Uint8Array): void {
    sql.run(`INSERT OR REPLACE INTO ${table} (block, codes) VALUES (?, ?)`, block, bytes);
  }

  function readSlots(block: number): BlockSlots | undefined {
    const row = sql.row<StoredSlots>(selectSlots, block);
    return row && { ...row, ids: numbersOf(row.ids), files: numbersOf(row.files) };
  }

  function remove(id: number): void {
    const place = sql.row<{ block: number | null }>(`SELECT block FROM ${table}_places WHERE id = ?`, id);
    if (place === undefined) return;
    sql.run(`DELETE FROM ${table}_places WHERE id = ?`, id);
    if (place.block === null) return void sql.run(deleteWaiting, id);
    const slots = readSlots(place.block);
    if (slots === undefined) return;
    const at = slots.ids.indexOf(id);
    if (at >= 0) slots.ids[at] = 0;
    if (slots.ids.some((other) => other !== 0)) {
      const change = `UPDATE ${table}_slots SET ids = ?, version = version + 1 WHERE block = ?`;
      return void sql.run(change, bytesOf(slots.ids), slots.block);
    }
    sql.run(`DELETE FROM ${table}_slots WHERE block = ?`, slots.block);
    sql.run(`DELETE FROM ${table} WHERE block = ?`, slots.block);
  }

  /** Creates a block of pending rows if there are enough. */
  function pack(source: MemorySource): void {
    const count = `SELECT count(*) FROM ${table}_places WHERE block IS NULL AND source = ?`;
    if ((sql.value<number>(count, source) ?? 0) < blockRows) return;
    const rows = sql.all<TailRow>(`${selectWaiting} AND p.source = ? ORDER BY p.id LIMIT ${blockRows}`, source);
    const block = addBlock(source, rows);
    for (const { id } of rows) {
      sql.run(`UPDATE ${table}_places SET block = ?, source = NULL, file = NULL WHERE id = ?`, block, id);
      sql.run(deleteWaiting, id);
    }
  }

  function addBlock(source: MemorySource, rows: readonly TailRow[]): number {
    const bytes = packRows(rows.map(({ code }) => code));
    // The threshold row may precede all others; numbers do not repeat.
    const insertCodes = `INSERT INTO ${table} (block, codes)
      VALUES (1 + (SELECT max(${thresholdsBlock}, coalesce(max(block), ${thresholdsBlock})) FROM ${table}), ?)`;
    const insertSlots = `INSERT INTO ${table}_slots (block, source, version, sum, ids, files) VALUES (?, ?, ?, ?, ?, ?)`;
    const block = Number(sql.run(insertCodes, bytes).lastInsertRowid);
    const ids = Int32Array.from(rows, ({ id }) => id);
    const files = Int32Array.from(rows, ({ file }) => file);
    const version = Math.trunc(Math.random() * 2 ** 31);
    sql.run(insertSlots, block, source, version, checksumOf(bytes), bytesOf(ids), bytesOf(files));
    return block;
  }

  function addRow({ id, source, file, code }: TailRow): void {
    // Blocks have four bytes for each, and an index of two thousand million chunks is none that would be compared.
    if (id > largestId || file > largestId)
      throw new RangeError(`the chunk ${id} of the file ${file} has too high a number`);
    sql.run(insertPlace, id, null, source, file);
    sql.run(`INSERT INTO ${table}_tail (id, code) VALUES (?, ?)`, id, code);
  }

  return {
    exists: () => suffixes.every((suffix) => hasTable(db, table + suffix)),
    hasAny: () => suffixes.some((suffix) => hasTable(db, table + suffix)),
    create() {
      drop();
      db.exec(createSql(table));
    },
    drop,
    put(row) {
      remove(row.id);
      addRow(row);
      pack(row.source);
    },
    fill(source, rows) {
      if (rows.length < blockRows || rows.some(({ id, file }) => id > largestId || file > largestId))
        return rows.forEach(addRow);
      const block = addBlock(source, rows);
      for (const { id } of rows) sql.run(insertPlace, id, block, null, null);
    },
    remove,
    size: () => ({
      rows: sql.value<number>(`SELECT count(*) FROM ${table}_places`) ?? 0,
      blocks: sql.value<number>(`SELECT count(*) FROM ${table}_slots`) ?? 0,
    }),
    width() {
      const first = `SELECT length(codes) FROM ${table} WHERE block > ${thresholdsBlock} ORDER BY block LIMIT 1`;
      const bytes = sql.value<number>(first);
      return bytes === undefined ? undefined : widthOf(bytes);
    },
    versions: () => sql.all(`SELECT block, version FROM ${table}_slots ORDER BY block`),
    slots: readSlots,
    tail: () => sql.all(`${selectWaiting} ORDER BY p.id`),
    codes,
    mean() {
      const bytes = codes(meanBlock);
      return bytes && new Float32Array(new Uint8Array(bytes).buffer);
    },
    setMean: (mean) => setCodes(meanBlock, new Uint8Array(mean.buffer)),
    bits: () => choiceOf(codes(thresholdsBlock)),
    setBits: (choice) => setCodes(thresholdsBlock, bytesOfChoice(choice)),
  };
}

function createSql(table: string): string {
  return `
    CREATE TABLE ${table} (block INTEGER PRIMARY KEY, codes BLOB NOT NULL);
    CREATE TABLE ${table}_slots (
      block INTEGER PRIMARY KEY,
      source TEXT NOT NULL,
      version INTEGER NOT NULL,
      sum INTEGER NOT NULL,
      ids BLOB NOT NULL,
      files BLOB NOT NULL
    );
    CREATE TABLE ${table}_places (id INTEGER PRIMARY KEY, block INTEGER, source TEXT, file INTEGER);
    CREATE INDEX ${table}_waiting ON ${table}_places (source) WHERE block IS NULL;
    CREATE TABLE ${table}_tail (id INTEGER PRIMARY KEY, code BLOB NOT NULL);
  `;
}

/** A copy: small buffers are pool slices and may be unaligned. */
function numbersOf(bytes: Buffer): Int32Array {
  return new Int32Array(new Uint8Array(bytes).buffer);
}

function bytesOf(numbers: Int32Array): Buffer {
  return Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}
