import type { MemorySource } from "@memslot/core";
import type { VectorSpace } from "@memslot/indexing";
import type Database from "better-sqlite3";
import type { ScoredId } from "./chunk-rows.ts";
import { type Similarity, toBytes } from "./cosine.ts";

/** A use is written down only when the last one is older than this: it saves rewriting vectors again and again. */
const usedAgainAfterMs = 24 * 60 * 60 * 1000;

/**
 * The vectors themselves, each stored once, by space and by the hash of what was embedded. All calls are about the
 * space that the cache was opened for.
 */
export interface EmbeddingCache {
  has(hash: string): boolean;
  get(hash: string): Buffer | undefined;
  put(hash: string, vector: Float32Array): void;
  /** Moves a vector to the end of the queue for eviction; done when a chunk that had it goes. */
  use(hash: string): void;
  /** Chunks without a vector, each hash once. */
  pending(limit: number): { hash: string; context: string; text: string }[];
  /** Ids and sources of the chunks that have this hash. */
  chunksWith(hash: string): { id: number; source: string }[];
  /** Chunks that have a vector. */
  countEmbedded(): number;
  /** Compares with every chunk of these sources. In no order. */
  compareAll(similarity: Similarity, sources: readonly MemorySource[]): ScoredId[];
  compare(similarity: Similarity, ids: readonly number[]): ScoredId[];
  /** Vectors of all spaces. */
  count(): number;
  /** Deletes what was used longest ago until `maxEntries` are left over all spaces; chunks in this space keep theirs. */
  evict(maxEntries: number): { deleted: number; otherSpaces: boolean };
}

const sameSpace =
  "e.provider = :provider AND e.model = :model AND e.provider_key = :providerKey AND e.dims = :dimensions";

/** What the statements below need; made when the first space is used, because words alone do without. */
export const createHashIndex = "CREATE INDEX IF NOT EXISTS chunks_by_hash ON chunks (hash, file_id)";

export function openEmbeddingCache(db: Database.Database, space: VectorSpace): EmbeddingCache {
  type Parameters = Record<string, unknown>;
  const has = db
    .prepare<[Parameters], number>(`SELECT 1 FROM embedding_cache e WHERE ${sameSpace} AND e.hash = :hash`)
    .pluck();
  const get = db
    .prepare<[Parameters], Buffer>(`SELECT embedding FROM embedding_cache e WHERE ${sameSpace} AND e.hash = :hash`)
    .pluck();
  const put = db.prepare<[Parameters]>(`
    INSERT INTO embedding_cache (provider, model, provider_key, dims, hash, embedding, updated_at)
    VALUES (:provider, :model, :providerKey, :dimensions, :hash, :embedding, :now)
    ON CONFLICT DO UPDATE SET embedding = excluded.embedding, updated_at = excluded.updated_at
  `);
  const use = db.prepare<[Parameters]>(
    `UPDATE embedding_cache AS e SET updated_at = :now WHERE ${sameSpace} AND e.hash = :hash AND e.updated_at < :before`,
  );
  const noVector = `NOT EXISTS (SELECT 1 FROM embedding_cache e WHERE ${sameSpace} AND e.hash = c.hash)`;
  const pendingIds = db
    .prepare<[Parameters], number>(`SELECT min(c.id) FROM chunks c WHERE ${noVector} GROUP BY c.hash LIMIT :limit`)
    .pluck();
  const textOf = db.prepare<[number], { hash: string; context: string; text: string }>(
    "SELECT hash, context, text FROM chunks WHERE id = ?",
  );
  const chunksWith = db.prepare<[string], { id: number; source: string }>(
    "SELECT c.id, f.source FROM chunks c JOIN files f ON f.id = c.file_id WHERE c.hash = ?",
  );
  const countEmbedded = db
    .prepare<[Parameters], number>(
      `SELECT count(*) FROM chunks c WHERE EXISTS (SELECT 1 FROM embedding_cache e WHERE ${sameSpace} AND e.hash = c.hash)`,
    )
    .pluck();
  // Chunks first: there may be many more vectors than chunks. The index saves reading the texts of all of them.
  const all = db.prepare<[Parameters], { id: number; embedding: Buffer }>(`
    SELECT c.id, e.embedding
    FROM chunks c INDEXED BY chunks_by_hash CROSS JOIN embedding_cache e ON ${sameSpace} AND e.hash = c.hash
    WHERE c.file_id IN (SELECT id FROM files WHERE source IN (SELECT value FROM json_each(:sources)))
  `);
  const some = db.prepare<[Parameters], { id: number; embedding: Buffer }>(`
    SELECT c.id, e.embedding FROM chunks c CROSS JOIN embedding_cache e ON ${sameSpace} AND e.hash = c.hash
    WHERE c.id IN (SELECT value FROM json_each(:ids))
  `);
  const count = db.prepare<[], number>("SELECT count(*) FROM embedding_cache").pluck();
  const oldest = db.prepare<[Parameters], { rowid: number; inSpace: number }>(`
    SELECT rowid, (${sameSpace}) AS inSpace FROM embedding_cache e
    WHERE NOT (${sameSpace} AND EXISTS (SELECT 1 FROM chunks c WHERE c.hash = e.hash))
    ORDER BY updated_at, rowid LIMIT :surplus
  `);
  const remove = db.prepare<[number]>("DELETE FROM embedding_cache WHERE rowid = ?");

  function score(rows: Iterable<{ id: number; embedding: Buffer }>, similarity: Similarity): ScoredId[] {
    const scored: ScoredId[] = [];
    for (const { id, embedding } of rows) {
      const value = similarity(embedding);
      if (value !== undefined) scored.push({ id, score: value });
    }
    return scored;
  }

  return {
    has: (hash) => has.get({ ...space, hash }) !== undefined,
    get: (hash) => get.get({ ...space, hash }),
    put: (hash, vector) => void put.run({ ...space, hash, embedding: toBytes(vector), now: Date.now() }),
    use(hash) {
      const now = Date.now();
      use.run({ ...space, hash, now, before: now - usedAgainAfterMs });
    },
    pending: (limit) => pendingIds.all({ ...space, limit }).flatMap((id) => textOf.get(id) ?? []),
    chunksWith: (hash) => chunksWith.all(hash),
    countEmbedded: () => countEmbedded.get({ ...space }) ?? 0,
    compareAll: (similarity, sources) => score(all.iterate({ ...space, sources: JSON.stringify(sources) }), similarity),
    compare: (similarity, ids) => score(some.all({ ...space, ids: JSON.stringify(ids) }), similarity),
    count: () => count.get() ?? 0,
    evict(maxEntries) {
      const surplus = (count.get() ?? 0) - maxEntries;
      if (surplus <= 0) return { deleted: 0, otherSpaces: false };
      const rows = oldest.all({ ...space, surplus });
      for (const { rowid } of rows) remove.run(rowid);
      return { deleted: rows.length, otherSpaces: rows.some(({ inSpace }) => inSpace === 0) };
    },
  };
}
