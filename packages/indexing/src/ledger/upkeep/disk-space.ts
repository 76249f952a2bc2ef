import { statSync } from "node:fs";
import type Database from "better-sqlite3";
import type { GenerationFacts, IndexStats } from "../../index-row-types.ts";
import { sqlOf } from "../sql.ts";
import { metaKeys } from "../file/meta.ts";
import type { Generations, LedgerBase } from "../generations.ts";

const bytesPerNumber = 4;
const stepPages = 128;
const worthwhileBytes = 1024 * 1024;
const worthwhileShare = 0.25;

export function countAll(db: Database.Database, generations: Generations, path: string | undefined): IndexStats {
  const sql = sqlOf(db);

  function countIn(generation: number): Pick<IndexStats, "files" | "chunks" | "sources"> {
    const sources = sql.all<IndexStats["sources"][number]>(
      `SELECT source, count(*) AS files, sum(chunks) AS chunks, sum(size) AS bytes, sum(chunk_bytes) AS chunkBytes
       FROM files WHERE generation = ? GROUP BY source ORDER BY source`,
      generation,
    );
    return {
      files: sources.reduce((sum, { files }) => sum + files, 0),
      chunks: sources.reduce((sum, { chunks }) => sum + chunks, 0),
      sources,
    };
  }

  function describeNext(): Pick<GenerationFacts, "next"> {
    const next = generations.next();
    if (next === undefined) return {};
    const { id, name, startedAt } = next;
    const { files, chunks } = countIn(id);
    return { next: { id, name, startedAt, files, chunks } };
  }

  function countNumbers(vectors: number): number {
    const [length = 0, ...others] = sql.values<number>("SELECT DISTINCT dims FROM spaces");
    if (others.length === 0) return vectors * length;
    return sql.value("SELECT sum(s.dims) FROM embedding_cache e JOIN spaces s ON s.id = e.space_id") ?? 0;
  }

  const { id, builtAt } = generations.active();
  const cachedVectors = sql.value<number>("SELECT count(*) FROM embedding_cache") ?? 0;
  return {
    ...countIn(id),
    cachedVectors,
    cachedVectorBytes: countNumbers(cachedVectors) * bytesPerNumber,
    databaseBytes: path === undefined ? bytesOfPages(db, "page_count") : bytesOf(path),
    walBytes: path === undefined ? 0 : bytesOf(`${path}-wal`),
    reusableBytes: bytesOfPages(db, "freelist_count"),
    generation: { id, ...(builtAt === null ? {} : { builtAt }), ...describeNext() },
  };
}

/** With the log: what is in there is going to be in the file. */
export function sizeOf(db: Database.Database, path: string | undefined): number {
  return path === undefined ? bytesOfPages(db, "page_count") : bytesOf(path) + bytesOf(`${path}-wal`);
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

export function bytesOfPages(db: Database.Database, pages: "page_count" | "freelist_count"): number {
  return pragma(db, pages) * pragma(db, "page_size");
}

function pragma(db: Database.Database, name: string): number {
  return Number(db.pragma(name, { simple: true }));
}

type Freed = Pick<LedgerBase, "db" | "transactions" | "meta">;

export function freePages(given: Freed): boolean {
  return stepWhile(given, () => pragma(given.db, "freelist_count") > 0);
}

/** Frees pages if a good part of the file is empty, or may hold secrets. */
export function freePagesIfMany(given: Freed): boolean {
  return stepWhile(given, () => areMany(given));
}

function stepWhile({ db, transactions }: Freed, isEnough: () => boolean): boolean {
  if (!isEnough()) return false;
  const before = pragma(db, "freelist_count");
  transactions.writeIfFree(() => {
    // `pragma()` of the driver stops after the first row, and each row is a page.
    db.exec(`PRAGMA incremental_vacuum(${stepPages})`);
  });
  return pragma(db, "freelist_count") < before && isEnough();
}

function areMany({ db, transactions, meta }: Freed): boolean {
  const free = pragma(db, "freelist_count");
  if (transactions.read(() => meta.get(metaKeys.unwiped)) !== undefined) {
    if (free > 0) return true;
    transactions.writeIfFree(() => meta.delete(metaKeys.unwiped));
  }
  return free * pragma(db, "page_size") >= worthwhileBytes && free > worthwhileShare * pragma(db, "page_count");
}
