import { statSync } from "node:fs";
import type { GenerationFacts, IndexStats } from "../../chunk-index.ts";
import type Database from "better-sqlite3";
import type { Generation, Generations } from "../generations/generations.ts";

const bytesPerNumber = 4;

/** Counts files, chunks, vectors and bytes. Called inside a transaction. */
export function createStats(
  db: Database.Database,
  generations: Generations,
  path: string | undefined,
): () => IndexStats {
  const sources = db.prepare<[number], IndexStats["sources"][number]>(`
    SELECT source, count(*) AS files, sum(chunks) AS chunks, sum(size) AS bytes, sum(chunk_bytes) AS chunkBytes
    FROM files WHERE generation = ? GROUP BY source ORDER BY source
  `);
  const lengths = db.prepare<[], number>("SELECT DISTINCT dims FROM spaces").pluck();
  const countVectors = db.prepare<[], number>("SELECT count(*) FROM embedding_cache").pluck();
  const sumLengths = db
    .prepare<[], number | null>("SELECT sum(s.dims) FROM embedding_cache e JOIN spaces s ON s.id = e.space_id")
    .pluck();

  /** The numbers in so many vectors, counted one by one only where they are not all of one length. */
  function countNumbers(vectors: number): number {
    const [length = 0, ...others] = lengths.all();
    return others.length === 0 ? vectors * length : (sumLengths.get() ?? 0);
  }

  function countIn(generation: number): Pick<IndexStats, "files" | "chunks" | "sources"> {
    const counted = sources.all(generation);
    return {
      files: counted.reduce((sum, { files }) => sum + files, 0),
      chunks: counted.reduce((sum, { chunks }) => sum + chunks, 0),
      sources: counted,
    };
  }

  function describeGenerations(): GenerationFacts {
    const { id, builtAt } = generations.active();
    const next = generations.next();
    return {
      id,
      ...(builtAt === null ? {} : { builtAt }),
      ...(next ? { next: describeNext(next) } : {}),
    };
  }

  function describeNext({ id, name, startedAt }: Generation): GenerationFacts["next"] {
    const { files, chunks } = countIn(id);
    return { id, name, startedAt, files, chunks };
  }

  return () => {
    const cachedVectors = countVectors.get() ?? 0;
    return {
      ...countIn(generations.active().id),
      cachedVectors,
      cachedVectorBytes: countNumbers(cachedVectors) * bytesPerNumber,
      databaseBytes: path === undefined ? pageBytes(db, "page_count") : bytesOf(path),
      walBytes: path === undefined ? 0 : bytesOf(`${path}-wal`),
      reusableBytes: pageBytes(db, "freelist_count"),
      generation: describeGenerations(),
    };
  };
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function pageBytes(db: Database.Database, pages: "page_count" | "freelist_count"): number {
  return Number(db.pragma(pages, { simple: true })) * Number(db.pragma("page_size", { simple: true }));
}
