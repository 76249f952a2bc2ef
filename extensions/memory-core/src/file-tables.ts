import type { MemorySource } from "@memslot/core";
import type { FileChunks, FileKey, StoredFile } from "@memslot/indexing";
import type Database from "better-sqlite3";
import { type HashKey, toKey } from "./hash-key.ts";
import { type Meta, metaKeys } from "./meta.ts";
import type { Transactions } from "./transactions.ts";

/** What has to be kept in step when chunks come and go. Called inside the transaction. */
export interface ChunkListener {
  added(chunk: { id: number; hash: HashKey; source: MemorySource }): void;
  removed(chunk: { id: number; hash: HashKey }): void;
  /** Called last. */
  changed(): void;
}

export interface FileTables {
  listFiles(): StoredFile[];
  replaceFiles(files: readonly FileChunks[]): void;
  touchFiles(files: readonly StoredFile[]): void;
  removeFiles(files: readonly FileKey[]): void;
}

/** The files and their chunks with the words of each. `indexWords` is false where this SQLite has no FTS5. */
export function createFileTables(input: {
  db: Database.Database;
  meta: Meta;
  transactions: Transactions;
  indexWords: boolean;
  listener: ChunkListener;
}): FileTables {
  const { db, meta, transactions, indexWords, listener } = input;
  const list = db.prepare<[], StoredFile>("SELECT path, source, hash, mtime AS mtimeMs, size, recipe FROM files");
  const find = db.prepare<[string, string], number>("SELECT id FROM files WHERE source = ? AND path = ?").pluck();
  const insertFile = db.prepare(
    "INSERT INTO files (path, source, hash, mtime, size, recipe) VALUES (:path, :source, :hash, :mtimeMs, :size, :recipe)",
  );
  const updateFile = db.prepare(
    "UPDATE files SET hash = :hash, mtime = :mtimeMs, size = :size, recipe = :recipe WHERE source = :source AND path = :path",
  );
  const deleteFile = db.prepare<[number]>("DELETE FROM files WHERE id = ?");
  const chunksOf = db.prepare<[number], { id: number; hash: HashKey }>("SELECT id, hash FROM chunks WHERE file_id = ?");
  const insertChunk = db.prepare(
    "INSERT INTO chunks (file_id, start_line, end_line, context, text, hash) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const deleteChunks = db.prepare<[number]>("DELETE FROM chunks WHERE file_id = ?");
  const insertWords = indexWords ? db.prepare("INSERT INTO chunks_fts (rowid, terms) VALUES (?, ?)") : undefined;
  const deleteWords = indexWords ? db.prepare<[number]>("DELETE FROM chunks_fts WHERE rowid = ?") : undefined;

  function dropChunks(fileId: number): void {
    for (const chunk of chunksOf.all(fileId)) {
      deleteWords?.run(chunk.id);
      listener.removed(chunk);
    }
    deleteChunks.run(fileId);
  }

  function replaceFile({ chunks, ...file }: FileChunks): void {
    let fileId = find.get(file.source, file.path);
    if (fileId === undefined) {
      fileId = Number(insertFile.run(file).lastInsertRowid);
    } else {
      dropChunks(fileId);
      updateFile.run(file);
    }
    for (const { startLine, endLine, context, text, hash, terms } of chunks) {
      const key = toKey(hash);
      const id = Number(insertChunk.run(fileId, startLine, endLine, context, text, key).lastInsertRowid);
      insertWords?.run(id, terms);
      listener.added({ id, hash: key, source: file.source });
    }
  }

  function removeFile({ source, path }: FileKey): void {
    const fileId = find.get(source, path);
    if (fileId === undefined) return;
    dropChunks(fileId);
    deleteFile.run(fileId);
  }

  function write(work: () => void): void {
    transactions.write(() => {
      work();
      listener.changed();
      if (!indexWords) meta.set(metaKeys.wordsStale, "1");
    });
  }

  return {
    listFiles: () => list.all(),
    replaceFiles(files) {
      if (files.length > 0) write(() => files.forEach(replaceFile));
    },
    touchFiles(files) {
      if (files.length > 0) transactions.write(() => files.forEach((file) => void updateFile.run(file)));
    },
    removeFiles(files) {
      if (files.length > 0) write(() => files.forEach(removeFile));
    },
  };
}
