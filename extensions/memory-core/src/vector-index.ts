import type { MemorySource } from "@memslot/core";
import type Database from "better-sqlite3";
import { toVector } from "./cosine.ts";
import { toInt8 } from "./int8.ts";
import { type Meta, metaKeys } from "./meta.ts";
import { hasTable } from "./schema.ts";

/** The most that sqlite-vec gives in one answer. */
export const maxNeighbours = 4096;
/**
 * Vectors in one block of the table. Each source ends in a block that is partly empty, and in a large block it takes
 * long to find many neighbours.
 */
const blockVectors = 128;
/** Deleted vectors leave holes. With more than this many blocks beside those that are needed the table is made anew. */
const spareBlocks = 32;

export interface Neighbour {
  id: number;
  /** 1 less the cosine of the rounded vectors. */
  distance: number;
}

/**
 * `chunks_vec`, the table of sqlite-vec: the vectors of one space once more, rounded to one byte a number and laid out
 * for fast search. It can be made anew from the stored vectors at any time. Which space it holds is written in `meta` in
 * the same transaction as every change of the chunks, because other processes may want another space in it, or have no
 * sqlite-vec to keep it in step.
 */
export interface VectorIndex {
  /** How far rounding has turned the vectors in the table at most, in radians. Asked inside a transaction. */
  angle(): number;
  /** True when its size is that of `embedded` vectors, and few holes. */
  fits(embedded: number): boolean;
  /** Makes it hold the vectors of this space. */
  rebuild(space: { id: number; dimensions: number }): void;
  put(id: number, source: MemorySource, vector: Float32Array): void;
  remove(id: number): void;
  /** The nearest vectors of one source, nearest first. */
  nearest(rounded: Buffer, source: MemorySource, limit: number): Neighbour[];
}

/** Needs sqlite-vec. */
export function createVectorIndex(db: Database.Database, meta: Meta): VectorIndex {
  let statements: ReturnType<typeof prepareStatements> | undefined;
  const prepared = (): ReturnType<typeof prepareStatements> => (statements ??= prepareStatements(db));
  let widest = 0;
  db.function("memslot_int8", (embedding: Buffer) => {
    const { bytes, angle } = toInt8(toVector(embedding));
    widest = Math.max(widest, angle);
    return bytes;
  });
  const angle = (): number => Number(meta.get(metaKeys.vectorAngle) ?? Math.PI);

  return {
    angle,
    fits(embedded) {
      if (!hasTable(db, "chunks_vec")) return false;
      const rows = db.prepare<[], number>("SELECT count(*) FROM chunks_vec_rowids").pluck().get() ?? 0;
      const blocks = db.prepare<[], number>("SELECT count(*) FROM chunks_vec_chunks").pluck().get() ?? 0;
      return rows === embedded && blocks <= 2 * Math.ceil(rows / blockVectors) + spareBlocks;
    },
    rebuild({ id, dimensions }) {
      statements = undefined;
      widest = 0;
      db.exec("DROP TABLE IF EXISTS chunks_vec");
      db.exec(`CREATE VIRTUAL TABLE chunks_vec USING vec0(
        source TEXT PARTITION KEY,
        embedding INT8[${dimensions}] distance_metric=cosine,
        chunk_size=${blockVectors}
      )`);
      db.prepare<[number]>(`
        INSERT INTO chunks_vec (rowid, source, embedding)
        SELECT c.id, f.source, vec_int8(memslot_int8(v.embedding)) FROM chunks c INDEXED BY chunks_by_hash
        CROSS JOIN files f ON f.id = c.file_id
        CROSS JOIN embedding_cache e ON e.hash = c.hash AND e.space_id = ?
        CROSS JOIN vectors v ON v.id = e.vector_id
      `).run(id);
      meta.set(metaKeys.vectorAngle, String(widest));
      meta.set(metaKeys.vectorSpace, String(id));
    },
    put(id, source, vector) {
      const rounded = toInt8(vector);
      prepared().remove.run(BigInt(id));
      prepared().insert.run(BigInt(id), source, rounded.bytes);
      if (rounded.angle > angle()) meta.set(metaKeys.vectorAngle, String(rounded.angle));
    },
    remove: (id) => void prepared().remove.run(BigInt(id)),
    nearest: (rounded, source, limit) => prepared().nearest.all(rounded, limit, source),
  };
}

function prepareStatements(db: Database.Database): {
  insert: Database.Statement<[bigint, string, Buffer]>;
  remove: Database.Statement<[bigint]>;
  nearest: Database.Statement<[Buffer, number, string], Neighbour>;
} {
  return {
    insert: db.prepare("INSERT INTO chunks_vec (rowid, source, embedding) VALUES (?, ?, vec_int8(?))"),
    remove: db.prepare("DELETE FROM chunks_vec WHERE rowid = ?"),
    nearest: db.prepare(
      "SELECT rowid AS id, distance FROM chunks_vec WHERE embedding MATCH vec_int8(?) AND k = ? AND source = ?",
    ),
  };
}
