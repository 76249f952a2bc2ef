import type { QuarantinedChunk } from "../../chunk-index.ts";
import type Database from "better-sqlite3";
import { type HashKey, toHash } from "../cache/hash-key.ts";

/** The texts that the providers of the spaces refuse, by space and hash. None of them has a vector in that space. */
export interface Quarantine {
  add(spaceId: number, hash: HashKey, reason: string): void;
  release(spaceId: number, hash: HashKey): void;
  releaseAll(spaceId: number): void;
  /** Forgets texts that no chunk has any more in a generation that is not dropped, in all spaces. */
  forgetGone(): void;
  /** Chunks of the generation. */
  count(spaceId: number, generation: number): number;
  list(spaceId: number, generation: number, limit: number): QuarantinedChunk[];
}

export function openQuarantine(db: Database.Database, store: string): Quarantine {
  const add = db.prepare<[number, HashKey, string]>(
    "INSERT OR REPLACE INTO quarantine (space_id, hash, reason) VALUES (?, ?, ?)",
  );
  const release = db.prepare<[number, HashKey]>("DELETE FROM quarantine WHERE space_id = ? AND hash = ?");
  const releaseAll = db.prepare<[number]>("DELETE FROM quarantine WHERE space_id = ?");
  const forgetGone = db.prepare<[]>(`
    DELETE FROM quarantine WHERE NOT EXISTS (
      SELECT 1 FROM chunks c JOIN files f ON f.id = c.file_id JOIN generations g ON g.id = f.generation
      WHERE c.hash = quarantine.hash AND g.state <> 'dropped')
  `);
  // Few texts are refused: they come first, and their chunks are looked up.
  const chunks = `FROM quarantine q CROSS JOIN chunks c ON c.hash = q.hash JOIN files f ON f.id = c.file_id
    WHERE q.space_id = :spaceId AND f.generation = :generation AND NOT EXISTS (
      SELECT 1 FROM adopted_vectors a WHERE a.hash = q.hash AND a.store = :store AND a.space_id = q.space_id)`;
  const count = db.prepare<[Record<string, unknown>], number>(`SELECT count(*) ${chunks}`).pluck();
  const list = db.prepare<[Record<string, unknown>], Omit<QuarantinedChunk, "hash"> & { hash: HashKey }>(`
    SELECT f.path, f.source, q.hash, c.start_line AS startLine, c.end_line AS endLine, q.reason
    ${chunks} ORDER BY f.path, f.source, c.start_line, c.id LIMIT :limit
  `);
  return {
    add: (spaceId, hash, reason) => void add.run(spaceId, hash, reason),
    release: (spaceId, hash) => void release.run(spaceId, hash),
    releaseAll: (spaceId) => void releaseAll.run(spaceId),
    forgetGone: () => void forgetGone.run(),
    count: (spaceId, generation) => count.get({ store, spaceId, generation }) ?? 0,
    list: (spaceId, generation, limit) =>
      list.all({ store, spaceId, generation, limit }).map((chunk) => ({ ...chunk, hash: toHash(chunk.hash) })),
  };
}
