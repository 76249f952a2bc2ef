import type { VectorQuery } from "@memslot/indexing";
import { filterParameters, isAsked, lengthOf, type ScoredId, toVector } from "@memslot/indexing/ledger-tables";
import type Database from "better-sqlite3";

const bytesPerNumber = 4;

export type Similarity = (stored: Buffer) => number | undefined;

export function similarityTo(query: Float32Array): Similarity {
  const queryLength = lengthOf(query);
  return (stored) => {
    if (stored.byteLength !== query.length * bytesPerNumber) return undefined;
    const vector = toVector(stored);
    let dot = 0;
    let squares = 0;
    for (let index = 0; index < query.length; index++) {
      const value = vector[index] as number;
      dot += value * (query[index] as number);
      squares += value * value;
    }
    return squares === 0 ? 0 : dot / (Math.sqrt(squares) * queryLength);
  };
}

export interface VectorComparison {
  all(
    spaceId: number,
    similarity: Similarity,
    generation: number,
    query: Pick<VectorQuery, "sources" | "scope">,
  ): ScoredId[];
  some(spaceId: number, similarity: Similarity, ids: readonly number[]): ScoredId[];
}

/** The index of chunks by their hash has to be there. */
export function openVectorComparison(db: Database.Database): VectorComparison {
  // Chunks first: there may be many more vectors. The index avoids reading the texts.
  const chunksAndVectors = `chunks c INDEXED BY chunks_by_hash
    CROSS JOIN embedding_cache e ON e.hash = c.hash AND e.space_id = :spaceId`;
  const among = (scoped: boolean): Database.Statement<[Record<string, unknown>], { id: number; embedding: Buffer }> =>
    db.prepare(`
      SELECT c.id, v.embedding FROM ${chunksAndVectors} CROSS JOIN vectors v ON v.id = e.vector_id
      WHERE c.file_id IN (SELECT f.id FROM files f WHERE ${isAsked(scoped)})
    `);
  const [amongSources, amongScope] = [among(false), among(true)];
  const some = db.prepare<[Record<string, unknown>], { id: number; embedding: Buffer }>(`
    SELECT c.id, v.embedding FROM chunks c CROSS JOIN embedding_cache e ON e.hash = c.hash AND e.space_id = :spaceId
    CROSS JOIN vectors v ON v.id = e.vector_id WHERE c.id IN (SELECT value FROM json_each(:ids))
  `);

  function score(rows: Iterable<{ id: number; embedding: Buffer }>, similarity: Similarity): ScoredId[] {
    const scored: ScoredId[] = [];
    for (const { id, embedding } of rows) {
      const value = similarity(embedding);
      if (value !== undefined) scored.push({ id, score: value });
    }
    return scored;
  }

  return {
    all(spaceId, similarity, generation, query) {
      const parameters = { spaceId, ...filterParameters(generation, query) };
      return score((query.scope ? amongScope : amongSources).iterate(parameters), similarity);
    },
    some: (spaceId, similarity, ids) => score(some.all({ spaceId, ids: JSON.stringify(ids) }), similarity),
  };
}
