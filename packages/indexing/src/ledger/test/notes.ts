import { createHash } from "node:crypto";
import Database from "better-sqlite3";
import type { IndexedFile } from "../../index-records.ts";
import type { VectorSpace } from "../../chunk-store.ts";
import type { LeaseRows } from "../leases.ts";

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** A file with one chunk for each text. */
export function fileOf(path: string, texts: readonly string[], source = "memory"): IndexedFile {
  const chunks = texts.map((text, index) => ({
    startLine: index + 1,
    endLine: index + 1,
    text,
    context: "",
    terms: text,
    hash: sha256(text),
  }));
  return { path, source, hash: sha256(texts.join("\n")), mtimeMs: 1.5, size: 10, recipe: "1", chunks };
}

export function spaceOf(model: string, dimensions = 8): VectorSpace {
  return { provider: "fake", model, providerKey: "", dimensions };
}

/** The same unit vector for the same text. */
export function vectorOf(text: string, dimensions = 8): Float32Array {
  const raw = new Float32Array(dimensions);
  // A digest holds eight numbers.
  for (let from = 0; from < dimensions; from += 8) {
    const digest = createHash("sha256").update(`${text}:${from}`).digest();
    for (let at = from; at < Math.min(from + 8, dimensions); at++)
      raw[at] = digest.readInt32BE((at - from) * 4) / 2 ** 31;
  }
  const length = Math.hypot(...raw);
  return raw.map((value) => value / length);
}

/** Rows in a table of their own in a database file, each time with a new connection. */
export function leaseRows(path: string): LeaseRows {
  function use<Result>(work: (db: Database.Database) => Result): Result {
    const db = new Database(path, { timeout: 5000 });
    try {
      db.exec("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT)");
      return work(db);
    } finally {
      db.close();
    }
  }
  return {
    get: (key) => use((db) => db.prepare<[string], string>("SELECT value FROM meta WHERE key = ?").pluck().get(key)),
    set(key, value) {
      use((db) =>
        value === undefined
          ? db.prepare("DELETE FROM meta WHERE key = ?").run(key)
          : db.prepare("INSERT OR REPLACE INTO meta VALUES (?, ?)").run(key, value),
      );
    },
  };
}
