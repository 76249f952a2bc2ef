import type { VectorSpace } from "../../chunk-store.ts";
import type Database from "better-sqlite3";

/** The vector spaces that this database knows, each with a short number that the other tables use for it. */
export interface Spaces {
  /** Undefined for a space that has never had a vector and was never used. */
  find(space: VectorSpace): number | undefined;
  /** Undefined for a number that stands for none. */
  get(id: number): VectorSpace | undefined;
  /** Finds or adds it. Called inside a write transaction. */
  add(space: VectorSpace): number;
  /** Records that vectors were written to it. Called inside a write transaction. */
  written(id: number, at: number): void;
  /** Those that have vectors, here or in the store from another host, the one that was written to last first. */
  list(): { space: VectorSpace; vectors: number }[];
}

export function openSpaces(db: Database.Database, store: string): Spaces {
  const find = db
    .prepare<[VectorSpace], number>(
      "SELECT id FROM spaces WHERE provider = :provider AND model = :model AND provider_key = :providerKey AND dims = :dimensions",
    )
    .pluck();
  const get = db.prepare<[number], VectorSpace>(
    "SELECT provider, model, provider_key AS providerKey, dims AS dimensions FROM spaces WHERE id = ?",
  );
  const insert = db.prepare<[VectorSpace]>(
    "INSERT INTO spaces (provider, model, provider_key, dims, written_at) VALUES (:provider, :model, :providerKey, :dimensions, 0)",
  );
  const written = db.prepare<[number, number]>(
    // Also when the clock was set back, or another process wrote within the same millisecond.
    "UPDATE spaces SET written_at = max(?, 1 + (SELECT max(written_at) FROM spaces)) WHERE id = ?",
  );
  const list = db.prepare<[string], VectorSpace & { vectors: number }>(`
    SELECT s.provider, s.model, s.provider_key AS providerKey, s.dims AS dimensions, v.vectors
    FROM (
      SELECT space_id, count(*) AS vectors FROM (
        SELECT space_id FROM embedding_cache UNION ALL SELECT space_id FROM adopted_vectors WHERE store = ?
      ) GROUP BY space_id
    ) v JOIN spaces s ON s.id = v.space_id
    ORDER BY s.written_at DESC, s.id DESC
  `);
  return {
    find: (space) => find.get({ ...space }),
    get: (id) => get.get(id),
    add: (space) => find.get({ ...space }) ?? Number(insert.run({ ...space }).lastInsertRowid),
    written: (id, at) => void written.run(at, id),
    list: () => list.all(store).map(({ vectors, ...space }) => ({ space, vectors })),
  };
}
