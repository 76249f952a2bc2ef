import { rmSync } from "node:fs";
import Database from "better-sqlite3";
import { type HashKey, lengthOf, toVector } from "./stored-vector.ts";
import { findSidecars } from "../file/set-aside.ts";

const bytesPerNumber = 4;
/** Vectors have the length 1; one whose length is another is not what was stored. */
const tolerance = 0.01;

interface CachedVector {
  hash: HashKey;
  spaceId: number;
  usedAt: number;
  vectorId: number;
  embedding: Buffer;
  dims: number;
}

/**
 * Takes the vectors that can still be read out of a database that was set aside into a new one, as each of them has cost
 * a request. What stands before a page that cannot be read is taken, and what stands behind it. Gives how many there
 * were; never throws, as they can be made again.
 */
export function salvageVectors(db: Database.Database, damagedPath: string): number {
  let damaged: Database.Database | undefined;
  const before = new Set(findSidecars(damagedPath).map(({ suffix }) => suffix));
  try {
    damaged = new Database(damagedPath, { readonly: true, fileMustExist: true });
    damaged.pragma("mmap_size = 0");
    return copyVectors(damaged, db);
  } catch {
    // It is too damaged to be opened, or the new one cannot be written: then the next call says so.
    if (db.inTransaction) db.exec("ROLLBACK");
    return 0;
  } finally {
    damaged?.close();
    // A look at it leaves nothing beside it.
    for (const { suffix } of findSidecars(damagedPath))
      if (!before.has(suffix)) rmSync(damagedPath + suffix, { force: true });
  }
}

function copyVectors(from: Database.Database, to: Database.Database): number {
  const spaces = from
    .prepare<[], Record<string, unknown>>("SELECT id, provider, model, provider_key, dims, written_at FROM spaces")
    .all();
  const addSpace = to.prepare(
    "INSERT OR IGNORE INTO spaces (id, provider, model, provider_key, dims, written_at) VALUES (:id, :provider, :model, :provider_key, :dims, :written_at)",
  );
  const addEntry = to.prepare(
    "INSERT OR IGNORE INTO embedding_cache (hash, space_id, used_at, vector_id) VALUES (?, ?, ?, ?)",
  );
  const addVector = to.prepare("INSERT OR IGNORE INTO vectors (id, embedding) VALUES (?, ?)");
  let saved = 0;
  to.exec("BEGIN IMMEDIATE");
  for (const space of spaces) addSpace.run(space);
  for (const order of ["ASC", "DESC"]) {
    for (const row of readable(from, order)) {
      if (!isWhole(row)) continue;
      if (addVector.run(row.vectorId, row.embedding).changes === 0) continue;
      addEntry.run(row.hash, row.spaceId, row.usedAt, row.vectorId);
      saved++;
    }
  }
  // Of two rows with one vector, or one text with two vectors, one is kept.
  to.exec("DELETE FROM vectors WHERE id NOT IN (SELECT vector_id FROM embedding_cache)");
  to.exec("COMMIT");
  return saved;
}

/** Rows in this order up to the first that cannot be read. */
function* readable(db: Database.Database, order: string): Generator<CachedVector> {
  try {
    yield* db
      .prepare<[], CachedVector>(
        `SELECT e.hash, e.space_id AS spaceId, e.used_at AS usedAt, e.vector_id AS vectorId, v.embedding, s.dims
         FROM embedding_cache e CROSS JOIN vectors v ON v.id = e.vector_id CROSS JOIN spaces s ON s.id = e.space_id
         ORDER BY e.hash ${order}, e.space_id ${order}`,
      )
      .iterate();
  } catch {
    // The other direction reads what stands behind it.
  }
}

function isWhole({ hash, usedAt, embedding, dims }: CachedVector): boolean {
  if (!Buffer.isBuffer(embedding) || embedding.byteLength !== dims * bytesPerNumber) return false;
  if (typeof usedAt !== "number" || (typeof hash !== "string" && !Buffer.isBuffer(hash))) return false;
  return Math.abs(lengthOf(toVector(embedding)) - 1) < tolerance;
}
