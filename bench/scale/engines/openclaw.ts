import { createHash } from "node:crypto";
import path from "node:path";
import Database from "better-sqlite3";
import { load } from "sqlite-vec";
import type { ScaleEngine } from "../engine.ts";
import { dimensions, linesPerChunk, numberOf, type SyntheticChunk } from "../synthetic.ts";

interface Shape {
  /** How the numbers of a vector are kept beside the text and in the cache. */
  keep: (vector: Float32Array) => string | Buffer;
  columnType: "TEXT" | "BLOB";
  /** Takes the query's vector, with oversampling it once more and the rows to ask for, the model, the source, and the limit. */
  near: string;
  /** So many rows are asked of sqlite-vec for each that is wanted. Absent: everything is compared. */
  oversampling?: number;
}

interface FoundRow {
  path: string;
  start_line: number;
}

const model = "synthetic";
const largestK = 4096;
const wordsApart = 6;
const shown = "c.id, c.path, c.start_line, c.end_line, c.text, c.source";

/**
 * The SQL of OpenClaw as far as its shape is known, written for this bench: `A` is what it did up to 2026.7, and does still
 * where the other one finds too few; `A2` is what 2026.9.6 does first.
 */
export const openclawEngines: readonly ScaleEngine[] = [
  engine("A", "OpenClaw's older query: every vector compared, joined to the chunks; vectors as JSON", {
    keep: (vector) => JSON.stringify(Array.from(vector, (value) => Math.round(value * 1e8) / 1e8)),
    columnType: "TEXT",
    near: `
      SELECT ${shown}, vec_distance_cosine(v.embedding, ?) AS distance
      FROM chunks_vec v JOIN chunks c ON c.id = v.id
      WHERE c.model = ? AND c.source IN (?) ORDER BY distance LIMIT ?`,
  }),
  engine("A2", "the query of OpenClaw 2026.9.6: eight times the wanted rows from `vec0`, joined to the chunks", {
    keep: (vector) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength),
    columnType: "BLOB",
    oversampling: 8,
    near: `
      SELECT ${shown}, vec_distance_cosine(v.embedding, ?) AS distance
      FROM chunks_vec v CROSS JOIN chunks c ON c.id = v.id
      WHERE v.embedding MATCH ? AND v.k = ? AND c.model = ? AND c.source IN (?) ORDER BY distance LIMIT ?`,
  }),
];

function engine(name: string, about: string, shape: Shape): ScaleEngine {
  return {
    name,
    about,
    async build(folder, blocks) {
      const db = open(folder);
      db.exec(tablesOf(shape.columnType));
      const insert = inserter(db, shape);
      for (const block of blocks) insert(block);
      db.close();
    },
    async open(folder) {
      const db = open(folder);
      const near = db.prepare<unknown[], FoundRow>(shape.near);
      const words = db.prepare<unknown[], FoundRow>(`
        SELECT id, path, source, start_line, end_line, text, bm25(chunks_fts) AS rank FROM chunks_fts
        WHERE chunks_fts MATCH ? AND model = ? AND source IN (?) ORDER BY rank LIMIT ?`);
      const nearest = (vector: Float32Array, limit: number): FoundRow[] => {
        const ask = shape.oversampling === undefined ? [] : [vector, Math.min(largestK, limit * shape.oversampling)];
        return near.all(vector, ...ask, model, "memory", limit);
      };
      // All the words at once; where that finds too few, one word after the other.
      const keyword = (terms: readonly string[], limit: number): number => {
        const quoted = terms.map((term) => `"${term}"`);
        const all = words.all(quoted.join(" AND "), model, "memory", limit).length;
        if (all >= limit) return all;
        const apart = quoted.slice(0, wordsApart).map((term) => words.all(term, model, "memory", limit).length);
        return apart.reduce((sum, count) => sum + count, all);
      };
      return {
        vector: (query, limit) =>
          nearest(query.vector, limit).map((row) => numberOf({ path: row.path, startLine: row.start_line })),
        hybrid: (query, limit) => keyword(query.words, limit) + nearest(query.vector, limit).length,
        close: () => void db.close(),
      };
    },
  };
}

function tablesOf(columnType: string): string {
  return `
    CREATE TABLE chunks (id TEXT PRIMARY KEY, path TEXT NOT NULL, source TEXT NOT NULL, start_line INTEGER NOT NULL,
      end_line INTEGER NOT NULL, hash TEXT NOT NULL, model TEXT NOT NULL, text TEXT NOT NULL,
      embedding ${columnType} NOT NULL, updated_at INTEGER NOT NULL);
    CREATE INDEX chunks_by_path ON chunks (path);
    CREATE TABLE embedding_cache (provider TEXT NOT NULL, model TEXT NOT NULL, provider_key TEXT NOT NULL,
      hash TEXT NOT NULL, embedding ${columnType} NOT NULL, dims INTEGER, updated_at INTEGER NOT NULL,
      PRIMARY KEY (provider, model, provider_key, hash));
    CREATE INDEX cache_by_age ON embedding_cache (updated_at);
    CREATE VIRTUAL TABLE chunks_vec USING vec0(id TEXT PRIMARY KEY, embedding FLOAT[${dimensions}]);
    CREATE VIRTUAL TABLE chunks_fts USING fts5(text, id UNINDEXED, path UNINDEXED, source UNINDEXED, model UNINDEXED,
      start_line UNINDEXED, end_line UNINDEXED);
  `;
}

function inserter(db: Database.Database, { keep }: Shape): (block: readonly SyntheticChunk[]) => void {
  const chunk = db.prepare("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const cache = db.prepare("INSERT INTO embedding_cache VALUES (?, ?, ?, ?, ?, ?, ?)");
  const vectors = db.prepare("INSERT INTO chunks_vec (id, embedding) VALUES (?, ?)");
  const words = db.prepare("INSERT INTO chunks_fts VALUES (?, ?, ?, ?, ?, ?, ?)");
  return db.transaction((block: readonly SyntheticChunk[]) => {
    for (const { path: file, startLine, text, vector } of block) {
      const hash = createHash("sha256").update(text).digest("hex");
      const endLine = startLine + linesPerChunk - 1;
      const id = createHash("sha256").update(`memory:${file}:${startLine}:${endLine}:${hash}:${model}`).digest("hex");
      const kept = keep(vector);
      chunk.run(id, file, "memory", startLine, endLine, hash, model, text, kept, 1);
      cache.run("bench", model, "", hash, kept, dimensions, 1);
      vectors.run(id, vector);
      words.run(text, id, file, "memory", model, startLine, endLine);
    }
  });
}

function open(folder: string): Database.Database {
  const db = new Database(path.join(folder, "index.sqlite"));
  load(db);
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = NORMAL");
  return db;
}
