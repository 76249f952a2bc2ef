import type { MemorySource } from "@memslot/core";
import type Database from "better-sqlite3";
import type { FileRecord, IndexedFile, RevisionStep } from "../../chunk-index.ts";
import type { FileKey } from "../../chunk-store.ts";
import { isOfOlderRules } from "../../secrets/version.ts";
import { type HashKey, toKey } from "../cache/stored-vector.ts";
import { forgetText } from "../cache/vector-cache.ts";
import { sqlOf } from "../database/sql.ts";
import type { Transactions } from "../database/transactions.ts";
import type { Meta } from "../file/meta.ts";

interface AddedChunk {
  id: number;
  hash: HashKey;
  source: MemorySource;
  /** The words to index, joined by spaces. */
  terms: string;
}

/** What has changed in one file. A chunk that was added may have the id of one that is gone. */
export interface ChangedChunks {
  gone: readonly { id: number; hash: HashKey }[];
  added: readonly AddedChunk[];
}

/** The files of one generation. */
export interface FileTables {
  listFiles(): FileRecord[];
  replaceFiles(files: readonly IndexedFile[]): RevisionStep | undefined;
  touchFiles(files: readonly FileRecord[]): RevisionStep | undefined;
  removeFiles(files: readonly FileKey[]): RevisionStep | undefined;
  /** The same, inside a transaction that has begun. */
  removeInside(files: readonly FileKey[]): void;
}

/** Which generation a call is about, asked at the beginning of its transaction. */
export interface FileTarget {
  generation(): number;
  /** Called at the end of a transaction that has changed files. Gives the step that it is, if they are those that answer. */
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

/** The files and their chunks. */
export function createFileTables(input: {
  db: Database.Database;
  meta: Meta;
  transactions: Transactions;
  /** Keeps in step what depends on chunks, inside the transaction: called for each file, and at the end. */
  wrote: (generation: number, chunks: ChangedChunks) => void;
  changed: () => void;
}): (target: FileTarget) => FileTables {
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

  /** Those that begin at the line or behind it. */
  function dropChunks(fileId: number, fromLine: number): ChangedChunks["gone"] {
    const from = "FROM chunks WHERE file_id = ? AND start_line >= ?";
    const gone = sql.all<{ id: number; hash: HashKey }>(`SELECT id, hash ${from}`, fileId, fromLine);
    sql.run(`DELETE ${from}`, fileId, fromLine);
    return gone;
  }

  /** Leaves of the file what begins before the line, and nothing if there is none. Returns what stays, and what is gone. */
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
          // The plus has the table read in its order: hardly ever are there files of another generation.
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
