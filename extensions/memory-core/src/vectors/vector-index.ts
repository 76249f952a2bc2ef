import type { MemorySource } from "@memslot/core";
import type Database from "better-sqlite3";
import { hasTable, type Meta, metaKeys, perGeneration, toVector } from "@memslot/indexing/ledger-tables";
import { toInt8 } from "./int8.ts";

/** The vectors of one generation, laid out for sqlite-vec. */
export function vectorTable(generation: number): string {
  return `chunks_vec_${generation}`;
}

/** The most that sqlite-vec gives in one answer. */
export const maxNeighbours = 4096;
/**
 * Vectors in one block of the table. Each source ends in a block that is partly empty, and in a large block it takes
 * long to find many neighbours.
 */
const blockVectors = 128;
/** Deleted vectors leave holes. With this many blocks beside twice those that are needed the table is made anew. */
const spareBlocks = 8;
/** More than one source ends in a block that is partly empty. */
const usualSources = 2;

/** True when the table is much larger than its vectors. */
export function hasManyHoles(rows: number, blocks: number): boolean {
  return blocks > 2 * Math.ceil(rows / blockVectors) + spareBlocks;
}

/** True when it could be smaller. */
export function hasHoles(rows: number, blocks: number): boolean {
  return blocks > Math.ceil(rows / blockVectors) + usualSources;
}

export interface Neighbour {
  id: number;
  /** 1 less the cosine of the rounded vectors. */
  distance: number;
}

/**
 * `chunks_vec_…`, a table of sqlite-vec: the vectors of one space once more, for the chunks of one generation, rounded to
 * one byte a number and laid out for fast search. It can be made anew from the stored vectors at any time. Which space it
 * holds is written in `meta` in the same transaction as every change of the chunks, because other processes may want
 * another space in it, or have no sqlite-vec to keep it in step.
 */
export interface VectorIndex {
  /** How far rounding has turned the vectors in the table at most, in radians. Asked inside a transaction. */
  angle(): number;
  /** Vectors in the table, and the blocks that they lie in; undefined where there is no table. */
  size(): { rows: number; blocks: number } | undefined;
  /** Makes it hold the vectors of this space. */
  rebuild(space: { id: number; dimensions: number }): void;
  put(id: number, source: MemorySource, vector: Float32Array): void;
  remove(id: number): void;
  /** The nearest vectors of one source, nearest first. */
  nearest(rounded: Buffer, source: MemorySource, limit: number): Neighbour[];
}

/** Needs sqlite-vec. */
export function createVectorIndexes(db: Database.Database, meta: Meta): (generation: number) => VectorIndex {
  let widest = 0;
  db.function("memslot_int8", (embedding: Buffer) => {
    const { bytes, angle } = toInt8(toVector(embedding));
    widest = Math.max(widest, angle);
    return bytes;
  });
  const convert = {
    begin: () => void (widest = 0),
    widest: () => widest,
  };
  return perGeneration((generation) => createVectorIndex(db, meta, generation, convert));
}

/** `rounding`: how far the vectors were turned that SQL has rounded since it began. */
function createVectorIndex(
  db: Database.Database,
  meta: Meta,
  generation: number,
  rounding: { begin(): void; widest(): number },
): VectorIndex {
  const table = vectorTable(generation);
  const angleKey = `${metaKeys.vectorAngle}${generation}`;
  let statements: ReturnType<typeof prepareStatements> | undefined;
  const prepared = (): ReturnType<typeof prepareStatements> => (statements ??= prepareStatements(db, table));
  const angle = (): number => Number(meta.get(angleKey) ?? Math.PI);

  return {
    angle,
    size() {
      if (!hasTable(db, table)) return undefined;
      const rows = db.prepare<[], number>(`SELECT count(*) FROM ${table}_rowids`).pluck().get() ?? 0;
      const blocks = db.prepare<[], number>(`SELECT count(*) FROM ${table}_chunks`).pluck().get() ?? 0;
      return { rows, blocks };
    },
    rebuild({ id, dimensions }) {
      statements = undefined;
      rounding.begin();
      // The one without a number is of an index that was brought up from schema 2.
      db.exec(`DROP TABLE IF EXISTS chunks_vec; DROP TABLE IF EXISTS ${table}`);
      db.exec(`CREATE VIRTUAL TABLE ${table} USING vec0(
        source TEXT PARTITION KEY,
        embedding INT8[${dimensions}] distance_metric=cosine,
        chunk_size=${blockVectors}
      )`);
      db.prepare<[number, number]>(`
        INSERT INTO ${table} (rowid, source, embedding)
        SELECT c.id, f.source, vec_int8(memslot_int8(v.embedding)) FROM chunks c INDEXED BY chunks_by_hash
        CROSS JOIN files f ON f.id = c.file_id AND f.generation = ?
        CROSS JOIN embedding_cache e ON e.hash = c.hash AND e.space_id = ?
        CROSS JOIN vectors v ON v.id = e.vector_id
      `).run(generation, id);
      meta.set(angleKey, String(rounding.widest()));
      meta.set(`${metaKeys.vectorSpace}${generation}`, String(id));
    },
    put(id, source, vector) {
      const rounded = toInt8(vector);
      prepared().remove.run(BigInt(id));
      prepared().insert.run(BigInt(id), source, rounded.bytes);
      if (rounded.angle > angle()) meta.set(angleKey, String(rounded.angle));
    },
    remove: (id) => void prepared().remove.run(BigInt(id)),
    nearest: (rounded, source, limit) => prepared().nearest.all(rounded, limit, source),
  };
}

function prepareStatements(
  db: Database.Database,
  table: string,
): {
  insert: Database.Statement<[bigint, string, Buffer]>;
  remove: Database.Statement<[bigint]>;
  nearest: Database.Statement<[Buffer, number, string], Neighbour>;
} {
  return {
    insert: db.prepare(`INSERT INTO ${table} (rowid, source, embedding) VALUES (?, ?, vec_int8(?))`),
    remove: db.prepare(`DELETE FROM ${table} WHERE rowid = ?`),
    nearest: db.prepare(
      `SELECT rowid AS id, distance FROM ${table} WHERE embedding MATCH vec_int8(?) AND k = ? AND source = ?`,
    ),
  };
}
