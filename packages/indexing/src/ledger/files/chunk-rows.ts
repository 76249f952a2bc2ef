import type Database from "better-sqlite3";
import type { ChunkRow } from "../../chunk-index.ts";
import type { FileFilter, KeywordQuery, PathScope, ScoredChunk } from "../../chunk-store.ts";
import { toKey } from "../cache/stored-vector.ts";
import { sqlOf } from "../database/sql.ts";
import { Damage } from "../file/file-faults.ts";

const columns =
  "c.id, f.path, f.source, c.start_line AS startLine, c.end_line AS endLine, c.text, c.context, f.chunk_bytes AS noteBytes";

type ScoredRow = ChunkRow & { score: number };

export interface ScoredId {
  id: number;
  score: number;
}

/** Gives the chunks behind ids that a search has ranked, in the same order. Throws `Damage` if one is not there. */
export type ReadRows = (ranked: readonly ScoredId[]) => ScoredRow[];

export function createRowReader(db: Database.Database): ReadRows {
  const read = `SELECT ${columns} FROM chunks c JOIN files f ON f.id = c.file_id WHERE c.id = ?`;
  return (ranked) =>
    ranked.map(({ id, score }) => {
      const row = sqlOf(db).row<ChunkRow>(read, id);
      // What is searched and what it is about are written in one transaction.
      if (row === undefined) throw new Damage("a chunk that was found is not there");
      return { ...row, score };
    });
}

/** The chunks of a generation that a store has found, in the same order. What is not known is left out. */
export function findRows(db: Database.Database, generation: number, found: readonly ScoredChunk[]): ScoredRow[] {
  const find = `SELECT ${columns} FROM files f JOIN chunks c ON c.file_id = f.id AND c.start_line = :startLine
    WHERE f.generation = :generation AND f.source = :source AND f.path = :path AND c.hash = :hash
    ORDER BY c.id LIMIT 1`;
  return found.flatMap(({ path, source, startLine, hash, score }) => {
    const row = sqlOf(db).row<ChunkRow>(find, { generation, path, source, startLine, hash: toKey(hash) });
    return row === undefined ? [] : [{ ...row, score }];
  });
}

/** The chunks of files of a generation, in the order of paths, sources and lines. */
export function listChunks(
  db: Database.Database,
  generation: number,
  { withText, ...asked }: FileFilter & { withText: boolean },
): ChunkRow[] {
  return sqlOf(db).all(
    `SELECT ${withText ? columns : columns.replace("c.text", "'' AS text")}
     FROM files f JOIN chunks c ON c.file_id = f.id
     WHERE ${isAsked(asked.scope !== undefined)} ORDER BY f.path, f.source, c.start_line, c.id`,
    filterParameters(generation, asked),
  );
}

/** Chunks of a generation, all sources together. */
export function countChunks(db: Database.Database, generation: number): number {
  return sqlOf(db).value("SELECT sum(chunks) FROM files WHERE +generation = ?", generation) ?? 0;
}

/** Best first; equal scores in the order of ids, so that the same question has the same answer. */
export function byScore(left: ScoredId, right: ScoredId): number {
  return right.score - left.score || left.id - right.id;
}

/** Parameters of `isAsked`: lists as JSON. */
export type FilterParameters = Record<
  "sources" | "withinPaths" | "withinFolders" | "withoutPaths" | "withoutFolders",
  string
> & { generation: number };

/** SQL: whether a search is about the file `f`. Paths are data: nothing in them is a pattern. */
export function isAsked(scoped: boolean): string {
  const condition = "f.generation = :generation AND f.source IN (SELECT value FROM json_each(:sources))";
  return scoped ? `${condition} AND ${isUnder("within")} AND NOT ${isUnder("without")}` : condition;
}

/** Paths are looked up, so that there may be thousands of them; folders are compared with one after the other. */
function isUnder(places: "within" | "without"): string {
  return `(f.path IN (SELECT value FROM json_each(:${places}Paths)) OR EXISTS (
    SELECT 1 FROM json_each(:${places}Folders) folder WHERE substr(f.path, 1, length(folder.value)) = folder.value))`;
}

export function filterParameters(
  generation: number,
  { sources, scope }: Pick<KeywordQuery, "sources" | "scope">,
): FilterParameters {
  const { within, without }: PathScope = scope ?? { within: [], without: [] };
  return {
    generation,
    sources: toJson(sources),
    withinPaths: toJson(within.filter(isPath)),
    withinFolders: toJson(within.filter(isFolder)),
    withoutPaths: toJson(without.filter(isPath)),
    withoutFolders: toJson(without.filter(isFolder)),
  };
}

/** The empty one stands for everything. */
function isFolder(place: string): boolean {
  return place === "" || place.endsWith("/");
}

function isPath(place: string): boolean {
  return !isFolder(place);
}

/** Half a character, as file systems allow it, stands in the database as the sign for a broken one. */
function toJson(texts: readonly string[]): string {
  return JSON.stringify(texts.map((text) => text.toWellFormed()));
}
