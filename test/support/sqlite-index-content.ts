import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";

/** What SQLite itself may put beside a database, and what the store does. */
const sidecars = ["-wal", "-shm", "-journal", "-sum"];

/** Names in the folder of the index that do not belong to it. */
export function strayFiles(index: string): string[] {
  const own = path.basename(index);
  const expected = new Set([own, ...sidecars.map((ending) => `${own}${ending}`)]);
  return readdirSync(path.dirname(index)).filter((name) => !expected.has(name));
}

/**
 * Looks into a copy of an index and its log, so that what a dead process has left behind is still there for the next
 * one. With this process' own SQLite, which knows nothing of sqlite-vec.
 */
function withCopy<Result>(index: string, look: (db: DatabaseSync) => Result): Result {
  const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-copy-"));
  try {
    const copy = path.join(folder, "copy.sqlite");
    // SQLite makes the shared memory again from the log.
    for (const ending of ["", "-wal", "-journal"])
      if (existsSync(index + ending)) cpSync(index + ending, copy + ending);
    const db = new DatabaseSync(copy);
    try {
      return look(db);
    } finally {
      db.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The words of `PRAGMA integrity_check`; `["ok"]` is good news. */
export function integrityOf(index: string): string[] {
  return withCopy(index, (db) =>
    db
      .prepare("PRAGMA integrity_check")
      .all()
      .map((row) => String(row["integrity_check"])),
  );
}

/** What the build that answers holds, in a form that two indexes of the same notes have in common. */
export interface IndexContent {
  files: { path: string; source: string; hash: string; size: number; chunks: number }[];
  /** In the order of sources, paths and lines. */
  chunks: {
    path: string;
    source: string;
    startLine: number;
    endLine: number;
    context: string;
    text: string;
    vectors: string[];
  }[];
  /** Chunks whose words are indexed. */
  words: number;
}

/** The content, with the vectors of all models or of one. */
export function contentOf(index: string, model?: string): IndexContent {
  return withCopy(index, (db) => {
    const generation = Number(db.prepare("SELECT id FROM generations WHERE state = 'active'").get()?.["id"]);
    const files = db
      .prepare("SELECT path, source, hash, size, chunks FROM files WHERE generation = ? ORDER BY source, path")
      .all(generation) as unknown as IndexContent["files"];
    const vectorsOf = db.prepare(
      `SELECT spaces.model AS model, hex(vectors.embedding) AS numbers FROM embedding_cache AS cache
       JOIN spaces ON spaces.id = cache.space_id JOIN vectors ON vectors.id = cache.vector_id
       WHERE cache.hash = ? ORDER BY spaces.model`,
    );
    const chunks = db
      .prepare(
        `SELECT path, source, start_line, end_line, context, text, chunks.hash AS hash FROM chunks
         JOIN files ON files.id = chunks.file_id
         WHERE generation = ? ORDER BY source, path, start_line, end_line, chunks.id`,
      )
      .all(generation)
      .map((row) => ({
        path: String(row["path"]),
        source: String(row["source"]),
        startLine: Number(row["start_line"]),
        endLine: Number(row["end_line"]),
        context: String(row["context"]),
        text: String(row["text"]),
        vectors: vectorsOf
          .all(row["hash"] ?? null)
          .filter((vector) => model === undefined || vector["model"] === model)
          .map((vector) => `${String(vector["model"])} ${String(vector["numbers"])}`),
      }));
    const words = Number(db.prepare(`SELECT count(*) AS count FROM chunks_fts_${generation}_docsize`).get()?.["count"]);
    return { files: files.map((file) => ({ ...file })), chunks, words };
  });
}
