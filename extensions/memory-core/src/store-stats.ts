import { statSync } from "node:fs";
import type { StoreStats } from "@memslot/indexing";
import type Database from "better-sqlite3";

/** Counts files, chunks, vectors and bytes. */
export function createStats(db: Database.Database, path: string | undefined): () => StoreStats {
  const sources = db.prepare<[], { source: string; files: number; chunks: number }>(`
    SELECT f.source, count(*) AS files, sum((SELECT count(*) FROM chunks c WHERE c.file_id = f.id)) AS chunks
    FROM files f GROUP BY f.source ORDER BY f.source
  `);
  const cached = db.prepare<[], number>("SELECT count(*) FROM embedding_cache").pluck();

  return () => {
    const counted = sources.all();
    return {
      files: counted.reduce((sum, { files }) => sum + files, 0),
      chunks: counted.reduce((sum, { chunks }) => sum + chunks, 0),
      sources: counted,
      cachedVectors: cached.get() ?? 0,
      databaseBytes: path === undefined ? memoryBytes(db) : bytesOf(path),
      walBytes: path === undefined ? 0 : bytesOf(`${path}-wal`),
    };
  };
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function memoryBytes(db: Database.Database): number {
  return Number(db.pragma("page_count", { simple: true })) * Number(db.pragma("page_size", { simple: true }));
}
