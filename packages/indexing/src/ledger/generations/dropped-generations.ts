import type Database from "better-sqlite3";
import type { Generations } from "./generations.ts";
import type { Meta } from "../file/meta.ts";
import { forgetText } from "../cache/vector-cache.ts";
import { isOfOlderRules } from "../../secrets/version.ts";
import type { HashKey } from "../cache/hash-key.ts";
import type { Transactions } from "../database/transactions.ts";
import type { Companion } from "../database/companion.ts";
import type { Vectors } from "../vectors/vectors.ts";

/** Chunks that one step deletes at most. */
const batchChunks = 200;

/** Deletes generations that answer no more, and those that never came to it, piece by piece. */
export interface DroppedGenerations {
  /** One piece. True: there may be more. False also where another process is writing just now. */
  step(): boolean;
}

export function createDroppedGenerations(input: {
  db: Database.Database;
  meta: Meta;
  transactions: Transactions;
  generations: Generations;
  vectors: Pick<Vectors, "listener">;
  companion: Pick<Companion, "drop" | "holds">;
}): DroppedGenerations {
  const { db, transactions, generations, vectors, companion } = input;
  /** Of these only something is left that this process cannot drop. */
  const left: number[] = [];
  const someChunks = db.prepare<[number], { id: number; fileId: number; hash: HashKey; recipe: string }>(`
    SELECT c.id, c.file_id AS fileId, c.hash, f.recipe FROM files f CROSS JOIN chunks c ON c.file_id = f.id
    WHERE f.generation = ? LIMIT ${batchChunks}
  `);
  const deleteChunk = db.prepare<[number]>("DELETE FROM chunks WHERE id = ?");
  const deleteFile = db.prepare<[number]>("DELETE FROM files WHERE id = ?");
  const deleteFiles = db.prepare<[number]>(
    `DELETE FROM files WHERE id IN (SELECT id FROM files WHERE generation = ? LIMIT ${batchChunks})`,
  );

  // A file that is not there now may come back, and its vectors have cost requests.
  const isHeld = db
    .prepare<[HashKey, number], number>(
      `SELECT 1 FROM chunks WHERE hash = ? UNION ALL SELECT 1 WHERE NOT EXISTS (
         SELECT 1 FROM files f JOIN generations g ON g.state = 'active'
         JOIN files n ON n.generation = g.id AND n.source = f.source AND n.path = f.path WHERE f.id = ?) LIMIT 1`,
    )
    .pluck();

  /** False when nothing was left to delete. */
  function deleteSome(generation: number): boolean {
    const chunks = someChunks.all(generation);
    const lastFile = chunks.at(-1)?.fileId;
    for (const { id, fileId, hash, recipe } of chunks) {
      deleteChunk.run(id);
      if (isOfOlderRules(recipe)) forgetText(input, hash, () => isHeld.get(hash, fileId) !== undefined);
      vectors.listener.removed({ hash });
    }
    for (const id of new Set(chunks.map(({ fileId }) => fileId))) if (id !== lastFile) deleteFile.run(id);
    if (chunks.length > 0) vectors.listener.changed();
    return chunks.length === batchChunks || deleteFiles.run(generation).changes > 0;
  }

  return {
    step() {
      const generation = generations.dropped(left);
      if (generation === undefined) return false;
      const more = transactions.writeIfFree(() => {
        if (companion.drop(generation) || deleteSome(generation)) return true;
        if (companion.holds(generation)) left.push(generation);
        else generations.forget(generation);
        return true;
      });
      return more ?? false;
    },
  };
}
