import path from "node:path";
import Database from "better-sqlite3";
import { load } from "sqlite-vec";
import type { ScaleEngine } from "../engine.ts";
import { dimensions, type SyntheticChunk } from "../synthetic.ts";

/** What a programmer writes in an afternoon: one table of sqlite-vec, one of FTS5, and the texts. */
export const plain: ScaleEngine = {
  name: "sqlite-vec",
  about: "one `vec0` table of float32 by cosine, one FTS5 table, the texts, and nothing else",
  async build(folder, blocks) {
    const db = open(folder);
    db.exec(`
      CREATE TABLE chunks (id INTEGER PRIMARY KEY, path TEXT, start_line INTEGER, text TEXT);
      CREATE VIRTUAL TABLE words USING fts5(text, content='chunks', content_rowid='id');
      CREATE VIRTUAL TABLE vectors USING vec0(embedding FLOAT[${dimensions}] distance_metric=cosine);
    `);
    const chunk = db.prepare("INSERT INTO chunks VALUES (?, ?, ?, ?)");
    const words = db.prepare("INSERT INTO words (rowid, text) VALUES (?, ?)");
    const vectors = db.prepare("INSERT INTO vectors (rowid, embedding) VALUES (?, ?)");
    const insert = db.transaction((block: readonly SyntheticChunk[]) => {
      for (const { number, path: file, startLine, text, vector } of block) {
        chunk.run(number, file, startLine, text);
        words.run(number, text);
        vectors.run(BigInt(number), vector);
      }
    });
    for (const block of blocks) insert(block);
    db.close();
  },
  async open(folder) {
    const db = open(folder);
    const near = db.prepare<[Float32Array, number], { id: number; text: string }>(`
      SELECT c.id, c.text FROM (SELECT rowid, distance FROM vectors WHERE embedding MATCH ? AND k = ?) v
      CROSS JOIN chunks c ON c.id = v.rowid ORDER BY v.distance
    `);
    const found = db.prepare<[string, number], { id: number; text: string }>(`
      SELECT c.id, c.text FROM (SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?) w
      CROSS JOIN chunks c ON c.id = w.rowid ORDER BY w.rank
    `);
    return {
      vector: (query, limit) => near.all(query.vector, limit).map(({ id }) => id),
      hybrid(query, limit) {
        const words = query.words.map((word) => `"${word}"`).join(" OR ");
        return found.all(words, limit).length + near.all(query.vector, limit).length;
      },
      close: () => void db.close(),
    };
  },
};

function open(folder: string): Database.Database {
  const db = new Database(path.join(folder, "index.sqlite"));
  load(db);
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = NORMAL");
  return db;
}
