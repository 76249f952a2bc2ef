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

export interface AddedChunk {
  id: number;
  hash: HashKey;
  source: MemorySource;
  generation: number;
  /** The words to index, joined by spaces. */
  terms: string;
}

/** What has to be kept in step when chunks come and go. Called inside the transaction. */
export interface ChunkListener {
  added(chunk: AddedChunk): void;
  removed(chunk: { id: number; hash: HashKey; generation: number }): void;
  /** Called last. */
  changed(): void;
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
  listener: ChunkListener;
}): (target: FileTarget) => FileTables {
  const { db, transactions, listener } = input;
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
    const kept = known && keepBefore(generation, known, fromLine);
    const row = {
      ...file,
      cursor: file.cursor ?? null,
      count: (kept?.chunks ?? 0) + chunks.length,
      bytes: chunks.reduce((sum, { text }) => sum + Buffer.byteLength(text), kept?.bytes ?? 0),
    };
    const fileId = kept?.id ?? insertFile({ ...row, generation });
    if (kept) sql.run(updateFile, { ...row, id: fileId });
    addChunks(generation, fileId, file.source, chunks);
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
    dropChunks(generation, file.id, 0);
    sql.run("DELETE FROM files WHERE id = ?", file.id);
  }

  function addChunks(generation: number, fileId: number, source: MemorySource, chunks: IndexedFile["chunks"]): void {
    const insert = "INSERT INTO chunks (file_id, start_line, end_line, context, text, hash) VALUES (?, ?, ?, ?, ?, ?)";
    for (const { startLine, endLine, context, text, hash, terms } of chunks) {
      const key = toKey(hash);
      const { lastInsertRowid } = sql.run(insert, fileId, startLine, endLine, context, text, key);
      listener.added({ id: Number(lastInsertRowid), hash: key, source, generation, terms });
    }
  }

  /** Those that begin at the line or behind it. */
  function dropChunks(generation: number, fileId: number, fromLine: number): void {
    const from = "FROM chunks WHERE file_id = ? AND start_line >= ?";
    for (const chunk of sql.all<{ id: number; hash: HashKey }>(`SELECT id, hash ${from}`, fileId, fromLine))
      listener.removed({ ...chunk, generation });
    sql.run(`DELETE ${from}`, fileId, fromLine);
  }

  /** Leaves of the file what begins before the line, and nothing if there is none. Returns what stays. */
  function keepBefore(generation: number, file: FileRow, fromLine: number | undefined): FileRow {
    if (fromLine === undefined) {
      dropChunks(generation, file.id, 0);
      return { id: file.id, chunks: 0, bytes: 0 };
    }
    const gone = sql.row<{ count: number; bytes: number | null }>(
      `SELECT count(*) AS count, sum(octet_length(text)) AS bytes FROM chunks WHERE file_id = ? AND start_line >= ?`,
      file.id,
      fromLine,
    );
    dropChunks(generation, file.id, fromLine);
    return { id: file.id, chunks: file.chunks - (gone?.count ?? 0), bytes: file.bytes - (gone?.bytes ?? 0) };
  }

  return (target) => {
    function change<File>(
      files: readonly File[],
      work: (generation: number, file: File) => void,
    ): RevisionStep | undefined {
      const generation = target.generation();
      for (const file of files) work(generation, file);
      listener.changed();
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
