import type { MemorySource } from "@memslot/core";
import type { VectorSpace } from "@memslot/indexing";
import type Database from "better-sqlite3";
import { toBytes } from "./cosine.ts";
import { type Meta, metaKeys } from "./meta.ts";
import { hasTable } from "./schema.ts";

/** The most that sqlite-vec gives in one answer. */
export const maxNeighbours = 4096;
/** Vectors in one block of the table. Each source ends in a block that is partly empty, so small blocks waste less. */
const blockVectors = 128;
/** Deleted vectors leave holes. With more than this many blocks beside those that are needed the table is made anew. */
const spareBlocks = 32;

/**
 * `chunks_vec`, the table of sqlite-vec: a copy of the vectors in use, laid out for fast search, that can be made anew
 * from `embedding_cache` at any time. Whether it can be relied on is written in `meta` in the same transaction as
 * every change of the chunks, because other processes may use another space, or have no sqlite-vec to keep it in step.
 */
export interface VectorIndex {
  /** True when the table holds exactly the vectors of this space. Asked inside a transaction. */
  isCurrent(): boolean;
  /** True when another space has the table. */
  isTaken(): boolean;
  /** True when its size is that of `embedded` vectors, and few holes. */
  fits(embedded: number): boolean;
  rebuild(): void;
  put(id: number, source: MemorySource, embedding: Buffer): void;
  remove(id: number): void;
  /** The ids of the nearest vectors of one source. */
  nearest(query: Float32Array, source: MemorySource, limit: number): number[];
}

export function createVectorIndex(db: Database.Database, meta: Meta, space: VectorSpace): VectorIndex {
  const name = JSON.stringify([space.provider, space.model, space.providerKey, space.dimensions]);
  let statements: ReturnType<typeof prepareStatements> | undefined;
  const prepared = (): ReturnType<typeof prepareStatements> => (statements ??= prepareStatements(db));

  return {
    isCurrent: () => meta.get(metaKeys.vectorSpace) === name,
    isTaken: () => ![undefined, name].includes(meta.get(metaKeys.vectorSpace)),
    fits(embedded) {
      if (!hasTable(db, "chunks_vec")) return false;
      const rows = db.prepare<[], number>("SELECT count(*) FROM chunks_vec_rowids").pluck().get() ?? 0;
      const blocks = db.prepare<[], number>("SELECT count(*) FROM chunks_vec_chunks").pluck().get() ?? 0;
      return rows === embedded && blocks <= 2 * Math.ceil(rows / blockVectors) + spareBlocks;
    },
    rebuild() {
      statements = undefined;
      db.exec("DROP TABLE IF EXISTS chunks_vec");
      db.exec(`CREATE VIRTUAL TABLE chunks_vec USING vec0(
        source TEXT PARTITION KEY,
        embedding FLOAT[${space.dimensions}] distance_metric=cosine,
        chunk_size=${blockVectors}
      )`);
      db.prepare(`
        INSERT INTO chunks_vec (rowid, source, embedding)
        SELECT c.id, f.source, e.embedding FROM chunks c JOIN files f ON f.id = c.file_id
        JOIN embedding_cache e ON e.provider = :provider AND e.model = :model AND e.provider_key = :providerKey
          AND e.dims = :dimensions AND e.hash = c.hash
      `).run({ ...space });
      meta.set(metaKeys.vectorSpace, name);
    },
    put(id, source, embedding) {
      prepared().remove.run(BigInt(id));
      prepared().insert.run(BigInt(id), source, embedding);
    },
    remove: (id) => void prepared().remove.run(BigInt(id)),
    nearest: (query, source, limit) => prepared().nearest.all(toBytes(query), limit, source),
  };
}

function prepareStatements(db: Database.Database): {
  insert: Database.Statement<[bigint, string, Buffer]>;
  remove: Database.Statement<[bigint]>;
  nearest: Database.Statement<[Buffer, number, string], number>;
} {
  return {
    insert: db.prepare("INSERT INTO chunks_vec (rowid, source, embedding) VALUES (?, ?, ?)"),
    remove: db.prepare("DELETE FROM chunks_vec WHERE rowid = ?"),
    nearest: db
      .prepare<[Buffer, number, string], number>(
        "SELECT rowid FROM chunks_vec WHERE embedding MATCH ? AND k = ? AND source = ?",
      )
      .pluck(),
  };
}
