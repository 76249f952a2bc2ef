import type { MemorySource } from "@memslot/core";
import type { VectorQuery } from "../../chunk-store.ts";
import type Database from "better-sqlite3";
import { filterParameters, isAsked } from "../files/file-filter.ts";
import { type HashKey, toHash } from "../cache/hash-key.ts";

export interface PendingText {
  hash: string;
  context: string;
  text: string;
}

export type FileChoice = Pick<VectorQuery, "sources" | "scope">;

/** What is asked of chunks and vectors together. */
export interface EmbeddedChunks {
  /** The chunks that have this hash, of all generations. */
  chunksWith(hash: HashKey): { id: number; source: MemorySource; generation: number }[];
  /** Chunks of the generation without a vector that are not quarantined, each hash once. */
  pending(spaceId: number, generation: number, limit: number): PendingText[];
  /** Chunks of the generation that have a vector. */
  countEmbedded(spaceId: number, generation: number): number;
  /** The chunks of the generation that a query is about, by what they have. */
  countWithin(
    spaceId: number,
    generation: number,
    query: FileChoice,
  ): { embedded: number; pending: number; quarantined: number };
}

const everything: NonNullable<FileChoice["scope"]> = { within: [""], without: [] };

/** What these statements need; made when the first of them is, because words alone do without. */
export const createHashIndex = "CREATE INDEX IF NOT EXISTS chunks_by_hash ON chunks (hash, file_id)";

/**
 * What counts as embedded for a store: a vector in the cache, or one that the store has from elsewhere. The index of
 * `createHashIndex` has to be there.
 */
export function openEmbeddedChunks(db: Database.Database, store: string): EmbeddedChunks {
  const chunksWith = db.prepare<[HashKey], { id: number; source: string; generation: number }>(
    "SELECT c.id, f.source, f.generation FROM chunks c JOIN files f ON f.id = c.file_id WHERE c.hash = ?",
  );
  const pendingIds = db
    .prepare<[Record<string, unknown>], number>(`
      SELECT min(c.id) FROM chunks c INDEXED BY chunks_by_hash
      WHERE NOT EXISTS (SELECT 1 FROM embedding_cache e WHERE e.hash = c.hash AND e.space_id = :spaceId)
        AND NOT EXISTS (SELECT 1 FROM adopted_vectors a WHERE a.hash = c.hash AND a.store = :store AND a.space_id = :spaceId)
        AND NOT EXISTS (SELECT 1 FROM quarantine q WHERE q.hash = c.hash AND q.space_id = :spaceId)
        AND EXISTS (SELECT 1 FROM files f WHERE f.id = c.file_id AND f.generation = :generation)
      GROUP BY c.hash LIMIT :limit
    `)
    .pluck();
  const textOf = db.prepare<[number], { hash: HashKey; context: string; text: string }>(
    "SELECT hash, context, text FROM chunks WHERE id = ?",
  );
  // Chunks first: there may be many more vectors than chunks. The index saves reading the texts of all of them.
  const chunksAndVectors = `chunks c INDEXED BY chunks_by_hash
    CROSS JOIN embedding_cache e ON e.hash = c.hash AND e.space_id = :spaceId`;
  const countEmbedded = db
    .prepare<[Record<string, number>], number>(
      `SELECT count(*) FROM ${chunksAndVectors}
       WHERE (SELECT count(*) FROM generations) = 1 OR c.file_id IN (SELECT id FROM files WHERE generation = :generation)`,
    )
    .pluck();
  const countAdopted = db
    .prepare<[Record<string, unknown>], number>(
      `SELECT count(*) FROM adopted_vectors a CROSS JOIN chunks c INDEXED BY chunks_by_hash ON c.hash = a.hash
       WHERE a.store = :store AND a.space_id = :spaceId
         AND c.file_id IN (SELECT id FROM files WHERE generation = :generation)`,
    )
    .pluck();
  const has = (table: "embedding_cache" | "quarantine"): string =>
    `EXISTS (SELECT 1 FROM ${table} t WHERE t.hash = c.hash AND t.space_id = :spaceId)`;
  const isAdopted =
    "EXISTS (SELECT 1 FROM adopted_vectors a WHERE a.hash = c.hash AND a.store = :store AND a.space_id = :spaceId)";
  const countWithin = db.prepare<
    [Record<string, unknown>],
    { chunks: number; embedded: number | null; quarantined: number | null }
  >(`
    SELECT count(*) AS chunks, sum(${has("embedding_cache")} OR ${isAdopted}) AS embedded,
      sum(${has("quarantine")} AND NOT ${isAdopted}) AS quarantined
    FROM chunks c INDEXED BY chunks_by_hash WHERE c.file_id IN (SELECT f.id FROM files f WHERE ${isAsked(true)})
  `);
  return {
    chunksWith: (hash) => chunksWith.all(hash),
    pending: (spaceId, generation, limit) =>
      pendingIds.all({ store, spaceId, generation, limit }).flatMap((id) => {
        const chunk = textOf.get(id);
        return chunk === undefined ? [] : [{ ...chunk, hash: toHash(chunk.hash) }];
      }),
    countEmbedded: (spaceId, generation) =>
      (countEmbedded.get({ spaceId, generation }) ?? 0) + (countAdopted.get({ store, spaceId, generation }) ?? 0),
    countWithin(spaceId, generation, { sources, scope = everything }) {
      const counts = countWithin.get({ store, spaceId, ...filterParameters(generation, { sources, scope }) });
      const [embedded, quarantined] = [counts?.embedded ?? 0, counts?.quarantined ?? 0];
      return { embedded, pending: (counts?.chunks ?? 0) - embedded - quarantined, quarantined };
    },
  };
}
