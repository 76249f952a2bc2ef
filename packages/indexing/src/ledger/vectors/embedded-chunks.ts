import type { MemorySource } from "@memslot/core";
import type Database from "better-sqlite3";
import type { SpaceStats } from "../../chunk-index.ts";
import type { VectorQuery } from "../../chunk-store.ts";
import { type HashKey, toHash, toVector } from "../cache/stored-vector.ts";
import { type Sql, sqlOf } from "../database/sql.ts";
import { filterParameters, isAsked } from "../files/chunk-rows.ts";

interface PendingText {
  hash: string;
  context: string;
  text: string;
}

export type FileChoice = Pick<VectorQuery, "sources" | "scope">;

type Counts = Required<Omit<SpaceStats, "nextPending">>;

const everything: NonNullable<FileChoice["scope"]> = { within: [""], without: [] };

/** What these statements need; made when the first of them is, because words alone do without. */
export const createHashIndex = "CREATE INDEX IF NOT EXISTS chunks_by_hash ON chunks (hash, file_id)";

// Chunks first: there may be many more vectors than chunks. The index saves reading the texts of all of them.
const chunksAndVectors = `chunks c INDEXED BY chunks_by_hash
  CROSS JOIN embedding_cache e ON e.hash = c.hash AND e.space_id = :spaceId`;
const isEmbedded = "EXISTS (SELECT 1 FROM embedding_cache t WHERE t.hash = c.hash AND t.space_id = :spaceId)";
const isRefused = "EXISTS (SELECT 1 FROM quarantine t WHERE t.hash = c.hash AND t.space_id = :spaceId)";
const isImported =
  "EXISTS (SELECT 1 FROM adopted_vectors a WHERE a.hash = c.hash AND a.store = :store AND a.space_id = :spaceId)";

const pendingIds = `
  SELECT min(c.id) FROM chunks c INDEXED BY chunks_by_hash
  WHERE NOT ${isEmbedded} AND NOT ${isImported} AND NOT ${isRefused}
    AND EXISTS (SELECT 1 FROM files f WHERE f.id = c.file_id AND f.generation = :generation)
  GROUP BY c.hash LIMIT :limit`;
const countWithin = `
  SELECT count(*) AS chunks, sum(${isEmbedded} OR ${isImported}) AS embedded,
    sum(${isRefused} AND NOT ${isImported}) AS quarantined
  FROM chunks c INDEXED BY chunks_by_hash WHERE c.file_id IN (SELECT f.id FROM files f WHERE ${isAsked(true)})`;
// Hashes have no order that means anything, so the lowest ones are a sample that is the same each time. The index over them
// ends the search as soon as there are enough.
const sampled = `
  SELECT c.hash, c.text, v.embedding
  FROM (
    SELECT min(c.id) AS id, e.vector_id AS vectorId FROM ${chunksAndVectors}
    WHERE EXISTS (SELECT 1 FROM files f WHERE f.id = c.file_id AND f.generation = :generation)
    GROUP BY c.hash ORDER BY c.hash LIMIT :count
  ) s JOIN chunks c ON c.id = s.id JOIN vectors v ON v.id = s.vectorId ORDER BY c.hash`;

/**
 * What is asked of chunks and vectors together. As embedded counts for a store: a vector in the cache, or one that the store
 * has from elsewhere. The index of `createHashIndex` has to be there.
 */
export class EmbeddedChunks {
  readonly #sql: Sql;
  readonly #store: string;

  constructor(db: Database.Database, store: string) {
    this.#sql = sqlOf(db);
    this.#store = store;
  }

  /** The chunks that have this hash, of all generations. */
  chunksWith(hash: HashKey): { id: number; source: MemorySource; generation: number }[] {
    const select =
      "SELECT c.id, f.source, f.generation FROM chunks c JOIN files f ON f.id = c.file_id WHERE c.hash = ?";
    return this.#sql.all(select, hash);
  }

  /** Chunks of the generation without a vector that are not quarantined, each hash once. */
  pending(spaceId: number, generation: number, limit: number): PendingText[] {
    return this.#sql.values<number>(pendingIds, { store: this.#store, spaceId, generation, limit }).flatMap((id) => {
      const chunk = this.#sql.row<Omit<PendingText, "hash"> & { hash: HashKey }>(
        "SELECT hash, context, text FROM chunks WHERE id = ?",
        id,
      );
      return chunk === undefined ? [] : [{ ...chunk, hash: toHash(chunk.hash) }];
    });
  }

  /** Chunks of the generation that have a vector. */
  countEmbedded(spaceId: number, generation: number): number {
    const inCache = this.#sql.value<number>(
      `SELECT count(*) FROM ${chunksAndVectors}
       WHERE (SELECT count(*) FROM generations) = 1 OR c.file_id IN (SELECT id FROM files WHERE generation = :generation)`,
      { spaceId, generation },
    );
    const imported = this.#sql.value<number>(
      `SELECT count(*) FROM adopted_vectors a CROSS JOIN chunks c INDEXED BY chunks_by_hash ON c.hash = a.hash
       WHERE a.store = :store AND a.space_id = :spaceId
         AND c.file_id IN (SELECT id FROM files WHERE generation = :generation)`,
      { store: this.#store, spaceId, generation },
    );
    return (inCache ?? 0) + (imported ?? 0);
  }

  /** The chunks of the generation that a query is about, by what they have. */
  countWithin(spaceId: number, generation: number, { sources, scope = everything }: FileChoice): Counts {
    const counts = this.#sql.row<{ chunks: number; embedded: number | null; quarantined: number | null }>(countWithin, {
      store: this.#store,
      spaceId,
      ...filterParameters(generation, { sources, scope }),
    });
    const [embedded, quarantined] = [counts?.embedded ?? 0, counts?.quarantined ?? 0];
    return { embedded, pending: (counts?.chunks ?? 0) - embedded - quarantined, quarantined };
  }

  /** Some chunks of the generation with their vectors. */
  sample(spaceId: number, generation: number, count: number): { hash: string; text: string; vector: Float32Array }[] {
    return this.#sql
      .all<{ hash: HashKey; text: string; embedding: Buffer }>(sampled, { spaceId, generation, count })
      .map(({ hash, text, embedding }) => {
        // A copy: it goes to another thread, and would bring the buffer that it was cut from.
        return { hash: toHash(hash), text, vector: toVector(embedding).slice() };
      });
  }
}
