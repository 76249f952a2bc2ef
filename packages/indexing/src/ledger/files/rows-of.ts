import type Database from "better-sqlite3";
import type { ChunkRow } from "../../chunk-index.ts";
import type { ScoredChunk } from "../../chunk-store.ts";
import { toKey } from "../cache/hash-key.ts";

type ScoredRow = ChunkRow & { score: number };

/** Gives the chunks of a generation that a store has found, in the same order. What is not known is left out. */
export function createRowFinder(
  db: Database.Database,
): (generation: number, found: readonly ScoredChunk[]) => ScoredRow[] {
  const find = db.prepare<[Record<string, unknown>], ChunkRow>(`
    SELECT c.id, f.path, f.source, c.start_line AS startLine, c.end_line AS endLine, c.text, c.context
    FROM files f JOIN chunks c ON c.file_id = f.id AND c.start_line = :startLine
    WHERE f.generation = :generation AND f.source = :source AND f.path = :path AND c.hash = :hash
    ORDER BY c.id LIMIT 1
  `);
  return (generation, found) =>
    found.flatMap(({ path, source, startLine, hash, score }) => {
      const row = find.get({ generation, path, source, startLine, hash: toKey(hash) });
      return row === undefined ? [] : [{ ...row, score }];
    });
}
