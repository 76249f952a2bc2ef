import type { ChunkRow } from "../../chunk-index.ts";
import type { FileFilter, ScoredChunk } from "../../chunk-store.ts";
import type Database from "better-sqlite3";
import { toKey } from "../cache/hash-key.ts";
import { Damage } from "../file/file-faults.ts";
import { filterParameters, isAsked } from "./file-filter.ts";

const columns =
  "c.id, f.path, f.source, c.start_line AS startLine, c.end_line AS endLine, c.text, c.context, f.chunk_bytes AS noteBytes";

type ScoredRow = ChunkRow & { score: number };

export interface ScoredId {
  id: number;
  score: number;
}

/** Gives the chunks behind ids that a search has ranked, in the same order. Throws `Damage` where one is not there. */
export type ReadRows = (ranked: readonly ScoredId[]) => ScoredRow[];

export function createRowReader(db: Database.Database): ReadRows {
  const read = db.prepare<[number], ChunkRow>(`
    SELECT ${columns} FROM chunks c JOIN files f ON f.id = c.file_id WHERE c.id = ?
  `);
  return (ranked) =>
    ranked.map(({ id, score }) => {
      const row = read.get(id);
      // What is searched and what it is about are written in one transaction.
      if (row === undefined) throw new Damage("a chunk that was found is not there");
      return { ...row, score };
    });
}

/** Gives the chunks of a generation that a store has found, in the same order. What is not known is left out. */
export function createRowFinder(
  db: Database.Database,
): (generation: number, found: readonly ScoredChunk[]) => ScoredRow[] {
  const find = db.prepare<[Record<string, unknown>], ChunkRow>(`
    SELECT ${columns} FROM files f JOIN chunks c ON c.file_id = f.id AND c.start_line = :startLine
    WHERE f.generation = :generation AND f.source = :source AND f.path = :path AND c.hash = :hash
    ORDER BY c.id LIMIT 1
  `);
  return (generation, found) =>
    found.flatMap(({ path, source, startLine, hash, score }) => {
      const row = find.get({ generation, path, source, startLine, hash: toKey(hash) });
      return row === undefined ? [] : [{ ...row, score }];
    });
}

/** Gives the chunks of files of a generation, in the order of paths, sources and lines. */
export function createChunkLister(
  db: Database.Database,
): (generation: number, asked: FileFilter & { withText: boolean }) => ChunkRow[] {
  const list = (scoped: boolean, withText: boolean): Database.Statement<[Record<string, unknown>], ChunkRow> =>
    db.prepare(`
      SELECT ${withText ? columns : columns.replace("c.text", "'' AS text")} FROM files f JOIN chunks c ON c.file_id = f.id
      WHERE ${isAsked(scoped)} ORDER BY f.path, f.source, c.start_line, c.id
    `);
  return (generation, { withText, ...asked }) =>
    list(asked.scope !== undefined, withText).all(filterParameters(generation, asked));
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
