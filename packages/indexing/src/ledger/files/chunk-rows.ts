import type { ChunkRow } from "../../chunk-index.ts";
import type Database from "better-sqlite3";
import { Damage } from "../file/file-faults.ts";

export interface ScoredId {
  id: number;
  score: number;
}

/** Gives the chunks behind ids that a search has ranked, in the same order. Throws `Damage` where one is not there. */
export type ReadRows = (ranked: readonly ScoredId[]) => (ChunkRow & { score: number })[];

export function createRowReader(db: Database.Database): ReadRows {
  const read = db.prepare<[number], ChunkRow>(`
    SELECT c.id, f.path, f.source, c.start_line AS startLine, c.end_line AS endLine, c.text, c.context
    FROM chunks c JOIN files f ON f.id = c.file_id WHERE c.id = ?
  `);
  return (ranked) =>
    ranked.map(({ id, score }) => {
      const row = read.get(id);
      // What is searched and what it is about are written in one transaction.
      if (row === undefined) throw new Damage("a chunk that was found is not there");
      return { ...row, score };
    });
}

/** Chunks of a generation, all sources together. */
export function createChunkCounter(db: Database.Database): (generation: number) => number {
  const count = db.prepare<[number], number | null>("SELECT sum(chunks) FROM files WHERE +generation = ?").pluck();
  return (generation) => count.get(generation) ?? 0;
}

/** Best first; equal scores in the order of ids, so that the same question has the same answer. */
export function byScore(left: ScoredId, right: ScoredId): number {
  return right.score - left.score || left.id - right.id;
}
