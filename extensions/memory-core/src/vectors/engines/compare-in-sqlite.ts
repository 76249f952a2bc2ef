import type { VectorQuery } from "@memslot/indexing";
import { filterParameters, isAsked } from "@memslot/indexing/ledger-tables";
import type Database from "better-sqlite3";

/** The chunks of a generation that are nearest by the distance that sqlite-vec counts, in single precision, nearest first. */
export type CompareInSqlite = (
  generation: number,
  query: Pick<VectorQuery, "vector" | "sources" | "scope">,
  spaceId: number,
  limit: number,
) => number[];

/** Needs sqlite-vec. It compares the stored vectors: nothing is laid out for it. */
export function openCompareInSqlite(db: Database.Database): CompareInSqlite {
  // A vector of zeros is at no angle to anything, and one of another length cannot be compared.
  const nearest = (scoped: boolean): Database.Statement<[Record<string, unknown>], number> =>
    db
      .prepare<[Record<string, unknown>], number>(`
        SELECT c.id FROM chunks c INDEXED BY chunks_by_hash
        CROSS JOIN embedding_cache e ON e.hash = c.hash AND e.space_id = :spaceId
        CROSS JOIN vectors v ON v.id = e.vector_id
        WHERE c.file_id IN (SELECT f.id FROM files f WHERE ${isAsked(scoped)}) AND length(v.embedding) = length(:question)
        ORDER BY coalesce(vec_distance_cosine(v.embedding, :question), 1), c.id LIMIT :limit
      `)
      .pluck();
  // Made at the first search: before it the index of chunks may not be there.
  const prepared = new Map<boolean, ReturnType<typeof nearest>>();
  return (generation, query, spaceId, limit) => {
    const { vector } = query;
    const question = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
    const isScoped = query.scope !== undefined;
    const statement = prepared.get(isScoped) ?? nearest(isScoped);
    prepared.set(isScoped, statement);
    return statement.all({
      ...filterParameters(generation, query),
      spaceId,
      question,
      limit,
    });
  };
}
