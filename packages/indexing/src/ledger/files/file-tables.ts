import type { IndexedFile, FileRecord, RevisionStep } from "../../chunk-index.ts";
import type { FileKey } from "../../chunk-store.ts";
import type { MemorySource } from "@memslot/core";
import type Database from "better-sqlite3";
import { type HashKey, toKey } from "../cache/hash-key.ts";
import type { Transactions } from "../database/transactions.ts";
import type { Meta } from "../file/meta.ts";
import { isOfOlderRules } from "../../secrets/version.ts";
import { forgetText } from "../cache/vector-cache.ts";

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
  /** Called at the end of a transaction that has changed files. Gives the step that it is, where they are those that answer. */
  changed(): RevisionStep | undefined;
}

interface FileRow {
  id: number;
  recipe?: string;
  chunks: number;
  bytes: number;
}

/** The files and their chunks. */
export function createFileTables(input: {
  db: Database.Database;
  meta: Meta;
  transactions: Transactions;
  listener: ChunkListener;
}): (target: FileTarget) => FileTables {
  const { db, transactions, listener } = input;
  const fileChunks = createFileChunks(db, listener);
  // The plus has the table read as it lies: hardly ever are there files of another generation.
  const list = db.prepare<[number], FileRecord & { cursor: string | null | undefined }>(
    "SELECT path, source, hash, mtime AS mtimeMs, size, recipe, cursor FROM files WHERE +generation = ?",
  );
  const find = db.prepare<[number, string, string], FileRow>(
    "SELECT id, recipe, chunks, chunk_bytes AS bytes FROM files WHERE generation = ? AND source = ? AND path = ?",
  );
  const insertFile = db.prepare<[Record<string, unknown>]>(
    `INSERT INTO files (generation, path, source, hash, mtime, size, recipe, cursor, chunks, chunk_bytes)
     VALUES (:generation, :path, :source, :hash, :mtimeMs, :size, :recipe, :cursor, :count, :bytes)`,
  );
  const facts = "hash = :hash, mtime = :mtimeMs, size = :size, recipe = :recipe, cursor = :cursor";
  const updateFile = db.prepare<[Record<string, unknown>]>(
    `UPDATE files SET ${facts}, chunks = :count, chunk_bytes = :bytes WHERE id = :id`,
  );
  const touchFile = db.prepare<[Record<string, unknown>]>(
    `UPDATE files SET ${facts} WHERE generation = :generation AND source = :source AND path = :path`,
  );
  const isHeld = db.prepare<[HashKey], number>("SELECT 1 FROM chunks WHERE hash = ? LIMIT 1").pluck();
  const deleteFile = db.prepare<[number]>("DELETE FROM files WHERE id = ?");

  function replaceFile(generation: number, { chunks, fromLine, ...file }: IndexedFile): void {
    const known = find.get(generation, file.source, file.path);
    const outdated = isOfOlderRules(known?.recipe ?? "") ? fileChunks.hashes(known?.id ?? 0) : [];
    const kept = known && fileChunks.keepBefore(generation, known, fromLine);
    const row = {
      ...file,
      cursor: file.cursor ?? null,
      count: (kept?.chunks ?? 0) + chunks.length,
      bytes: chunks.reduce((sum, { text }) => sum + Buffer.byteLength(text), kept?.bytes ?? 0),
    };
    const fileId = kept?.id ?? Number(insertFile.run({ ...row, generation }).lastInsertRowid);
    if (kept) updateFile.run({ ...row, id: fileId });
    fileChunks.add(generation, fileId, file.source, chunks);
    for (const hash of outdated) forgetText(input, hash, () => isHeld.get(hash) !== undefined);
  }

  function removeFile(generation: number, { source, path }: FileKey): void {
    const file = find.get(generation, source, path);
    if (file === undefined) return;
    fileChunks.drop(generation, file.id, 0);
    deleteFile.run(file.id);
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
          const files = list.all(target.generation());
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
          for (const file of files) touchFile.run({ ...file, cursor: file.cursor ?? null, generation });
          return target.changed();
        });
      },
    };
  };
}

/** The chunks of single files, with the listener told of each. */
interface FileChunks {
  add(generation: number, fileId: number, source: MemorySource, chunks: IndexedFile["chunks"]): void;
  hashes(fileId: number): HashKey[];
  /** Those that begin at the line or behind it. */
  drop(generation: number, fileId: number, fromLine: number): void;
  /** Leaves of the file what begins before the line, and nothing where there is none. Gives what stays. */
  keepBefore(generation: number, file: FileRow, fromLine: number | undefined): FileRow;
}

function createFileChunks(db: Database.Database, listener: ChunkListener): FileChunks {
  const chunksFrom = db.prepare<[number, number], { id: number; hash: HashKey }>(
    "SELECT id, hash FROM chunks WHERE file_id = ? AND start_line >= ?",
  );
  const countFrom = db.prepare<[number, number], { count: number; bytes: number | null }>(
    "SELECT count(*) AS count, sum(octet_length(text)) AS bytes FROM chunks WHERE file_id = ? AND start_line >= ?",
  );
  const insertChunk = db.prepare(
    "INSERT INTO chunks (file_id, start_line, end_line, context, text, hash) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const deleteChunks = db.prepare<[number, number]>("DELETE FROM chunks WHERE file_id = ? AND start_line >= ?");

  function drop(generation: number, fileId: number, fromLine: number): void {
    for (const chunk of chunksFrom.all(fileId, fromLine)) listener.removed({ ...chunk, generation });
    deleteChunks.run(fileId, fromLine);
  }

  return {
    add(generation, fileId, source, chunks) {
      for (const { startLine, endLine, context, text, hash, terms } of chunks) {
        const key = toKey(hash);
        const id = Number(insertChunk.run(fileId, startLine, endLine, context, text, key).lastInsertRowid);
        listener.added({ id, hash: key, source, generation, terms });
      }
    },
    hashes: (fileId) => chunksFrom.all(fileId, 0).map(({ hash }) => hash),
    drop,
    keepBefore(generation, file, fromLine) {
      if (fromLine === undefined) {
        drop(generation, file.id, 0);
        return { id: file.id, chunks: 0, bytes: 0 };
      }
      const gone = countFrom.get(file.id, fromLine);
      drop(generation, file.id, fromLine);
      return { id: file.id, chunks: file.chunks - (gone?.count ?? 0), bytes: file.bytes - (gone?.bytes ?? 0) };
    },
  };
}
