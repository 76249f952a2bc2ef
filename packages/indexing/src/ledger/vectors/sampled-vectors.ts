import type Database from "better-sqlite3";
import { type HashKey, toHash } from "../cache/hash-key.ts";
import { toVector } from "../cache/stored-vector.ts";

/** Some chunks of a generation with their vectors. */
export type SampledVectors = (
  spaceId: number,
  generation: number,
  count: number,
) => { hash: string; text: string; vector: Float32Array }[];

/** Hashes have no order that means anything, so the lowest ones are a sample that is the same each time. */
export function createSampledVectors(db: Database.Database): SampledVectors {
  // The index over the hashes ends the look as soon as there are enough.
  const select = db.prepare<[Record<string, number>], { hash: HashKey; text: string; embedding: Buffer }>(`
    SELECT c.hash, c.text, v.embedding
    FROM (
      SELECT min(c.id) AS id, e.vector_id AS vectorId
      FROM chunks c INDEXED BY chunks_by_hash
      CROSS JOIN embedding_cache e ON e.hash = c.hash AND e.space_id = :spaceId
      WHERE EXISTS (SELECT 1 FROM files f WHERE f.id = c.file_id AND f.generation = :generation)
      GROUP BY c.hash ORDER BY c.hash LIMIT :count
    ) s JOIN chunks c ON c.id = s.id JOIN vectors v ON v.id = s.vectorId ORDER BY c.hash
  `);
  return (spaceId, generation, count) =>
    select.all({ spaceId, generation, count }).map(({ hash, text, embedding }) => {
      // A copy: it goes to another thread, and would bring the buffer that it was cut from.
      return { hash: toHash(hash), text, vector: toVector(embedding).slice() };
    });
}
