import type Database from "better-sqlite3";
import type { MemorySource } from "@memslot/core";
import type { QuarantinedChunk, SpaceStats } from "../../index-row-types.ts";
import type { VectorSpace, VectorQuery } from "../../chunk-store.ts";
import { type HashKey, toHash, toVector } from "./vector-cache.ts";
import { type Sql, sqlOf } from "../sql.ts";
import { filterParameters, isAsked } from "../file-tables.ts";

/** Vector spaces with short numbers, and refused texts. Writes need a write transaction. */
export class Spaces {
  readonly #sql: Sql;
  readonly #store: string;

  constructor(db: Database.Database, store: string) {
    this.#sql = sqlOf(db);
    this.#store = store;
  }

  find(space: VectorSpace): number | undefined {
    return this.#sql.value(
      `SELECT id FROM spaces
       WHERE provider = :provider AND model = :model AND provider_key = :providerKey AND dims = :dimensions`,
      { ...space },
    );
  }

  get(id: number): VectorSpace | undefined {
    return this.#sql.row(
      "SELECT provider, model, provider_key AS providerKey, dims AS dimensions FROM spaces WHERE id = ?",
      id,
    );
  }

  add(space: VectorSpace): number {
    const insert = `INSERT INTO spaces (provider, model, provider_key, dims, written_at)
      VALUES (:provider, :model, :providerKey, :dimensions, 0)`;
    return this.find(space) ?? Number(this.#sql.run(insert, { ...space }).lastInsertRowid);
  }

  written(id: number, at: number): void {
    // Also if the clock was set back, or another process wrote in the same millisecond.
    const update = "UPDATE spaces SET written_at = max(?, 1 + (SELECT max(written_at) FROM spaces)) WHERE id = ?";
    this.#sql.run(update, at, id);
  }

  /** Spaces with vectors, including imported ones, most recently written first. */
  list(): { space: VectorSpace; vectors: number }[] {
    const rows = this.#sql.all<VectorSpace & { vectors: number }>(
      `SELECT s.provider, s.model, s.provider_key AS providerKey, s.dims AS dimensions, v.vectors
       FROM (
         SELECT space_id, count(*) AS vectors FROM (
           SELECT space_id FROM embedding_cache UNION ALL SELECT space_id FROM adopted_vectors WHERE store = ?
         ) GROUP BY space_id
       ) v JOIN spaces s ON s.id = v.space_id
       ORDER BY s.written_at DESC, s.id DESC`,
      this.#store,
    );
    return rows.map(({ vectors, ...space }) => ({ space, vectors }));
  }

  quarantine(id: number, hash: HashKey, reason: string): void {
    this.#sql.run("INSERT OR REPLACE INTO quarantine (space_id, hash, reason) VALUES (?, ?, ?)", id, hash, reason);
  }

  release(id: number, hash: HashKey): void {
    this.#sql.run("DELETE FROM quarantine WHERE space_id = ? AND hash = ?", id, hash);
  }

  releaseAll(id: number): void {
    this.#sql.run("DELETE FROM quarantine WHERE space_id = ?", id);
  }

  /** Forgets refused texts without a chunk in a live generation. */
  forgetRefused(): void {
    this.#sql.run(`
      DELETE FROM quarantine WHERE NOT EXISTS (
        SELECT 1 FROM chunks c JOIN files f ON f.id = c.file_id JOIN generations g ON g.id = f.generation
        WHERE c.hash = quarantine.hash AND g.state <> 'dropped')
    `);
  }

  countRefused(spaceId: number, generation: number): number {
    return this.#sql.value(`SELECT count(*) ${refused}`, { store: this.#store, spaceId, generation }) ?? 0;
  }

  listRefused(spaceId: number, generation: number, limit: number): QuarantinedChunk[] {
    return this.#sql
      .all<Omit<QuarantinedChunk, "hash"> & { hash: HashKey }>(
        `SELECT f.path, f.source, q.hash, c.start_line AS startLine, c.end_line AS endLine, q.reason
         ${refused} ORDER BY f.path, f.source, c.start_line, c.id LIMIT :limit`,
        { store: this.#store, spaceId, generation, limit },
      )
      .map((chunk) => ({ ...chunk, hash: toHash(chunk.hash) }));
  }
}

// Refused texts are few: start from them.
const refused = `FROM quarantine q CROSS JOIN chunks c ON c.hash = q.hash JOIN files f ON f.id = c.file_id
  WHERE q.space_id = :spaceId AND f.generation = :generation AND NOT EXISTS (
    SELECT 1 FROM adopted_vectors a WHERE a.hash = q.hash AND a.store = :store AND a.space_id = q.space_id)`;

interface PendingText {
  hash: string;
  context: string;
  text: string;
}

export type FileChoice = Pick<VectorQuery, "sources" | "scope">;

type Counts = Required<Omit<SpaceStats, "nextPending">>;

const everything: NonNullable<FileChoice["scope"]> = { within: [""], without: [] };

/** Created with the first of these statements; keyword search does not need it. */
export const createHashIndex = "CREATE INDEX IF NOT EXISTS chunks_by_hash ON chunks (hash, file_id)";

// Chunks first: there may be many more vectors. The index avoids reading the texts.
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
// Hashes are random, so the lowest ones are a stable sample. The index ends the query early.
const sampled = `
  SELECT c.hash, c.text, v.embedding
  FROM (
    SELECT min(c.id) AS id, e.vector_id AS vectorId FROM ${chunksAndVectors}
    WHERE EXISTS (SELECT 1 FROM files f WHERE f.id = c.file_id AND f.generation = :generation)
    GROUP BY c.hash ORDER BY c.hash LIMIT :count
  ) s JOIN chunks c ON c.id = s.id JOIN vectors v ON v.id = s.vectorId ORDER BY c.hash`;

/** Queries over chunks and vectors. Needs the index of `createHashIndex`. */
export class EmbeddedChunks {
  readonly #sql: Sql;
  readonly #store: string;

  constructor(db: Database.Database, store: string) {
    this.#sql = sqlOf(db);
    this.#store = store;
  }

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

  sample(spaceId: number, generation: number, count: number): { hash: string; text: string; vector: Float32Array }[] {
    return this.#sql
      .all<{ hash: HashKey; text: string; embedding: Buffer }>(sampled, { spaceId, generation, count })
      .map(({ hash, text, embedding }) => {
        // A copy: transfer would take the whole underlying buffer.
        return { hash: toHash(hash), text, vector: toVector(embedding).slice() };
      });
  }
}
