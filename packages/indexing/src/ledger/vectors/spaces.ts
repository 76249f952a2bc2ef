import type Database from "better-sqlite3";
import type { QuarantinedChunk } from "../../chunk-index.ts";
import type { VectorSpace } from "../../chunk-store.ts";
import { type HashKey, toHash } from "../cache/stored-vector.ts";
import { type Sql, sqlOf } from "../database/sql.ts";

/**
 * The vector spaces that this database knows, each with a short number that the other tables use for it, and the texts
 * that their providers refuse. Whatever writes is called inside a write transaction.
 */
export class Spaces {
  readonly #sql: Sql;
  readonly #store: string;

  constructor(db: Database.Database, store: string) {
    this.#sql = sqlOf(db);
    this.#store = store;
  }

  /** Undefined for a space that has never had a vector and was never used. */
  find(space: VectorSpace): number | undefined {
    return this.#sql.value(
      `SELECT id FROM spaces
       WHERE provider = :provider AND model = :model AND provider_key = :providerKey AND dims = :dimensions`,
      { ...space },
    );
  }

  /** Undefined for a number that stands for none. */
  get(id: number): VectorSpace | undefined {
    return this.#sql.row(
      "SELECT provider, model, provider_key AS providerKey, dims AS dimensions FROM spaces WHERE id = ?",
      id,
    );
  }

  /** Finds or adds it. */
  add(space: VectorSpace): number {
    const insert = `INSERT INTO spaces (provider, model, provider_key, dims, written_at)
      VALUES (:provider, :model, :providerKey, :dimensions, 0)`;
    return this.find(space) ?? Number(this.#sql.run(insert, { ...space }).lastInsertRowid);
  }

  /** Records that vectors were written to it. */
  written(id: number, at: number): void {
    // Also when the clock was set back, or another process wrote within the same millisecond.
    const update = "UPDATE spaces SET written_at = max(?, 1 + (SELECT max(written_at) FROM spaces)) WHERE id = ?";
    this.#sql.run(update, at, id);
  }

  /** Those that have vectors, here or in the store from another host, the one that was written to last first. */
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

  /** A text that has no vector in the space, as its provider refuses it. */
  quarantine(id: number, hash: HashKey, reason: string): void {
    this.#sql.run("INSERT OR REPLACE INTO quarantine (space_id, hash, reason) VALUES (?, ?, ?)", id, hash, reason);
  }

  release(id: number, hash: HashKey): void {
    this.#sql.run("DELETE FROM quarantine WHERE space_id = ? AND hash = ?", id, hash);
  }

  releaseAll(id: number): void {
    this.#sql.run("DELETE FROM quarantine WHERE space_id = ?", id);
  }

  /** Forgets refused texts that no chunk has any more in a generation that is not dropped, in all spaces. */
  forgetRefused(): void {
    this.#sql.run(`
      DELETE FROM quarantine WHERE NOT EXISTS (
        SELECT 1 FROM chunks c JOIN files f ON f.id = c.file_id JOIN generations g ON g.id = f.generation
        WHERE c.hash = quarantine.hash AND g.state <> 'dropped')
    `);
  }

  /** Chunks of the generation that are refused. */
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

// Few texts are refused: they come first, and their chunks are looked up.
const refused = `FROM quarantine q CROSS JOIN chunks c ON c.hash = q.hash JOIN files f ON f.id = c.file_id
  WHERE q.space_id = :spaceId AND f.generation = :generation AND NOT EXISTS (
    SELECT 1 FROM adopted_vectors a WHERE a.hash = q.hash AND a.store = :store AND a.space_id = q.space_id)`;
