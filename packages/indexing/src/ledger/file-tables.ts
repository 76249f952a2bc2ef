import type Database from "better-sqlite3";
import type { MemorySource } from "@memslot/core";
import type { ChunkRow, FoundRow, FileRecord, IndexedFile, RevisionStep } from "../index-row-types.ts";
import type { FileFilter, KeywordQuery, PathScope, ScoredChunk, FileKey } from "../chunk-store.ts";
import { isOfOlderRules } from "../secrets/version.ts";
import { toHash, toKey, type HashKey, forgetText } from "./vectors/vector-cache.ts";
import type { LedgerBase } from "./generations.ts";
import type { FileCalls } from "./ledger.ts";
import { sqlOf } from "./sql.ts";
import { Damage } from "./file/store-errors.ts";

const columns =
  "c.id, f.path, f.source, c.start_line AS startLine, c.end_line AS endLine, c.text, c.context, f.chunk_bytes AS noteBytes";

export interface ScoredId {
  id: number;
  score: number;
}

/**
 * The rows of found chunks, in their order. One statement for all: SQLite prepares a join with parameters again at each
 * execution, which takes longer than the join.
 */
export function readRows(db: Database.Database, ranked: readonly ScoredId[]): FoundRow[] {
  const read = `SELECT ${columns} FROM json_each(?) e CROSS JOIN chunks c ON c.id = e.value JOIN files f ON f.id = c.file_id`;
  const rows = sqlOf(db).all<ChunkRow>(read, JSON.stringify(ranked.map(({ id }) => id)));
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ranked.map(({ id, score }) => {
    const row = byId.get(id);
    // Index and chunks are written in one transaction.
    if (row === undefined) throw new Damage("a chunk that was found is not there");
    return { ...row, score };
  });
}

/** The chunks of a generation that a store has found, in the same order. What is not known is excluded. */
export function findRows(db: Database.Database, generation: number, found: readonly ScoredChunk[]): FoundRow[] {
  const find = `SELECT e.key AS at, c.id, c.hash FROM json_each(:found) e
    CROSS JOIN files f ON f.generation = :generation AND f.source = e.value ->> 'source' AND f.path = e.value ->> 'path'
    CROSS JOIN chunks c ON c.file_id = f.id AND c.start_line = e.value ->> 'startLine' ORDER BY c.id DESC`;
  const chunks = sqlOf(db).all<{ at: number; id: number; hash: HashKey }>(find, {
    generation,
    found: JSON.stringify(found.map((each) => ({ ...each, path: each.path.toWellFormed() }))),
  });
  const ids = new Map(chunks.filter(({ at, hash }) => found[at]?.hash === toHash(hash)).map(({ at, id }) => [at, id]));
  return readRows(
    db,
    found.map(({ score }, at) => ({ id: ids.get(at) ?? 0, score })).filter(({ id }) => id > 0),
  );
}

/** The chunks of files of a generation, in the order of paths, sources and lines. */
export function listChunks(
  db: Database.Database,
  generation: number,
  { withText, ...asked }: FileFilter & { withText: boolean },
): ChunkRow[] {
  const { scope } = asked;
  // Folders would have every file compared with them.
  const isNamed = scope !== undefined && scope.without.length === 0 && scope.within.every(isPath);
  const named = `${isAsked(false)} AND f.path IN (SELECT value FROM json_each(:withinPaths))`;
  return sqlOf(db).all(
    `SELECT ${withText ? columns : columns.replace("c.text", "'' AS text")}
     FROM files f JOIN chunks c ON c.file_id = f.id
     WHERE ${isNamed ? named : isAsked(scope !== undefined)} ORDER BY f.path, f.source, c.start_line, c.id`,
    filterParameters(generation, asked),
  );
}

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

export function isAsked(scoped: boolean): string {
  const condition = "f.generation = :generation AND f.source IN (SELECT value FROM json_each(:sources))";
  return scoped ? `${condition} AND ${isUnder("within")} AND NOT ${isUnder("without")}` : condition;
}

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

function isFolder(place: string): boolean {
  return place === "" || place.endsWith("/");
}

function isPath(place: string): boolean {
  return !isFolder(place);
}

/** A lone surrogate is stored as the replacement character. */
function toJson(texts: readonly string[]): string {
  return JSON.stringify(texts.map((text) => text.toWellFormed()));
}

interface AddedChunk {
  id: number;
  hash: HashKey;
  source: MemorySource;
  terms: string;
}

/** What has changed in one file. A chunk that was added may have the id of one that is gone. */
export interface ChangedChunks {
  gone: readonly { id: number; hash: HashKey }[];
  added: readonly AddedChunk[];
}

export interface FileTables extends FileCalls {
  removeInside(files: readonly FileKey[]): void;
}

export interface FileTarget {
  generation(): number;
  /** Called at the end of a transaction. Returns the revision step if active files changed. */
  changed(): RevisionStep | undefined;
}

interface FileRow {
  id: number;
  recipe?: string;
  chunks: number;
  bytes: number;
}

const fileFacts = "hash = :hash, mtime = :mtimeMs, size = :size, recipe = :recipe, cursor = :cursor";
const updateFile = `UPDATE files SET ${fileFacts}, chunks = :count, chunk_bytes = :bytes WHERE id = :id`;
const touchFile = `UPDATE files SET ${fileFacts} WHERE generation = :generation AND source = :source AND path = :path`;

export function createFileTables(
  input: Omit<LedgerBase, "generations"> & {
    /** Keeps in step what depends on chunks, inside the transaction: called for each file, and at the end. */
    wrote: (generation: number, chunks: ChangedChunks) => void;
    changed: () => void;
  },
): (target: FileTarget) => FileTables {
  const { db, transactions } = input;
  const sql = sqlOf(db);

  function find(generation: number, { source, path }: FileKey): FileRow | undefined {
    return sql.row(
      `SELECT id, recipe, chunks, chunk_bytes AS bytes FROM files WHERE generation = ? AND source = ? AND path = ?`,
      generation,
      source,
      path,
    );
  }

  function replaceFile(generation: number, { chunks, fromLine, ...file }: IndexedFile): void {
    const known = find(generation, file);
    const outdated =
      known && isOfOlderRules(known.recipe ?? "")
        ? sql.values<HashKey>("SELECT hash FROM chunks WHERE file_id = ?", known.id)
        : [];
    const [kept, gone] = known ? keepBefore(known, fromLine) : [undefined, []];
    const row = {
      ...file,
      cursor: file.cursor ?? null,
      count: (kept?.chunks ?? 0) + chunks.length,
      bytes: chunks.reduce((sum, { text }) => sum + Buffer.byteLength(text), kept?.bytes ?? 0),
    };
    const fileId = kept?.id ?? insertFile({ ...row, generation });
    if (kept) sql.run(updateFile, { ...row, id: fileId });
    input.wrote(generation, { gone, added: addChunks(fileId, file.source, chunks) });
    for (const hash of outdated)
      forgetText(input, hash, () => sql.value("SELECT 1 FROM chunks WHERE hash = ? LIMIT 1", hash) !== undefined);
  }

  function insertFile(row: Record<string, unknown>): number {
    const { lastInsertRowid } = sql.run(
      `INSERT INTO files (generation, path, source, hash, mtime, size, recipe, cursor, chunks, chunk_bytes)
       VALUES (:generation, :path, :source, :hash, :mtimeMs, :size, :recipe, :cursor, :count, :bytes)`,
      row,
    );
    return Number(lastInsertRowid);
  }

  function removeFile(generation: number, key: FileKey): void {
    const file = find(generation, key);
    if (file === undefined) return;
    const gone = dropChunks(file.id, 0);
    sql.run("DELETE FROM files WHERE id = ?", file.id);
    input.wrote(generation, { gone, added: [] });
  }

  function addChunks(fileId: number, source: MemorySource, chunks: IndexedFile["chunks"]): AddedChunk[] {
    const insert = "INSERT INTO chunks (file_id, start_line, end_line, context, text, hash) VALUES (?, ?, ?, ?, ?, ?)";
    return chunks.map(({ startLine, endLine, context, text, hash: given, terms }) => {
      const hash = toKey(given);
      const { lastInsertRowid } = sql.run(insert, fileId, startLine, endLine, context, text, hash);
      return { id: Number(lastInsertRowid), hash, source, terms };
    });
  }

  function dropChunks(fileId: number, fromLine: number): ChangedChunks["gone"] {
    const from = "FROM chunks WHERE file_id = ? AND start_line >= ?";
    const gone = sql.all<{ id: number; hash: HashKey }>(`SELECT id, hash ${from}`, fileId, fromLine);
    sql.run(`DELETE ${from}`, fileId, fromLine);
    return gone;
  }

  /** Leaves of the file what begins before the line, and nothing if there is none. */
  function keepBefore(file: FileRow, fromLine: number | undefined): [kept: FileRow, gone: ChangedChunks["gone"]] {
    if (fromLine === undefined) return [{ id: file.id, chunks: 0, bytes: 0 }, dropChunks(file.id, 0)];
    const bytes = sql.value<number | null>(
      "SELECT sum(octet_length(text)) FROM chunks WHERE file_id = ? AND start_line >= ?",
      file.id,
      fromLine,
    );
    const gone = dropChunks(file.id, fromLine);
    return [{ id: file.id, chunks: file.chunks - gone.length, bytes: file.bytes - (bytes ?? 0) }, gone];
  }

  return (target) => {
    function change<File>(
      files: readonly File[],
      work: (generation: number, file: File) => void,
    ): RevisionStep | undefined {
      const generation = target.generation();
      for (const file of files) work(generation, file);
      input.changed();
      return target.changed();
    }

    function write<File>(
      files: readonly File[],
      work: (generation: number, file: File) => void,
    ): RevisionStep | undefined {
      return files.length > 0 ? transactions.write(() => change(files, work)) : undefined;
    }

    return {
      listFiles: () =>
        transactions.read(() => {
          // The unary plus keeps the table order: other generations are rare.
          const files = sql.all<FileRecord & { cursor: string | null | undefined }>(
            "SELECT path, source, hash, mtime AS mtimeMs, size, recipe, cursor FROM files WHERE +generation = ?",
            target.generation(),
          );
          for (const file of files) file.cursor ??= undefined;
          return files as FileRecord[];
        }),
      replaceFiles: (files) => write(files, replaceFile),
      removeFiles: (files) => write(files, removeFile),
      removeInside: (files) => void change(files, removeFile),
      touchFiles(files) {
        if (files.length === 0) return undefined;
        return transactions.write(() => {
          const generation = target.generation();
          for (const file of files) sql.run(touchFile, { ...file, cursor: file.cursor ?? null, generation });
          return target.changed();
        });
      },
    };
  };
}
