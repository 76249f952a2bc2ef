import type Database from "better-sqlite3";
import type { Generations } from "./generations.ts";
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
  transactions: Transactions;
  generations: Generations;
  vectors: Pick<Vectors, "listener">;
  companion: Pick<Companion, "drop" | "holds">;
}): DroppedGenerations {
  const { db, transactions, generations, vectors, companion } = input;
  /** Of these only something is left that this process cannot drop. */
  const left: number[] = [];
  const someChunks = db.prepare<[number], { id: number; fileId: number; hash: HashKey }>(`
    SELECT c.id, c.file_id AS fileId, c.hash FROM files f CROSS JOIN chunks c ON c.file_id = f.id
    WHERE f.generation = ? LIMIT ${batchChunks}
  `);
  const deleteChunk = db.prepare<[number]>("DELETE FROM chunks WHERE id = ?");
  const deleteFile = db.prepare<[number]>("DELETE FROM files WHERE id = ?");
  const deleteFiles = db.prepare<[number]>(
    `DELETE FROM files WHERE id IN (SELECT id FROM files WHERE generation = ? LIMIT ${batchChunks})`,
  );

  /** False when nothing was left to delete. */
  function deleteSome(generation: number): boolean {
    const chunks = someChunks.all(generation);
    const lastFile = chunks.at(-1)?.fileId;
    for (const { id, fileId, hash } of chunks) {
      deleteChunk.run(id);
      vectors.listener.removed({ hash });
      if (fileId !== lastFile) deleteFile.run(fileId);
    }
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
