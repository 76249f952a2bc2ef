import type Database from "better-sqlite3";
import type { HashKey } from "./hash-key.ts";
import { type Meta, metaKeys } from "../file/meta.ts";
import type { Transactions } from "../database/transactions.ts";

/** Vectors that one transaction deletes at most. */
const batchVectors = 500;
/** A small index keeps so many. */
const fewestKept = 64;
/** Finding the oldest takes a look at all of them: it waits until there are this many too much, as a share of what is kept. */
const worthwhileShare = 1 / 8;
/** The mark is moved when there are so many more chunks. */
const growthNoted = 1.1;

/**
 * Vectors of texts that no note has any more. They are kept for the text that comes back (an edit that is undone, a branch
 * that is checked out again, a disk that was not there), but no more of them in each space than the index has ever had
 * chunks: else a note that is edited a thousand times leaves a thousand vectors.
 */
export interface DeadVectors {
  /** Remembers how many chunks there are, before they may become fewer. */
  note(): void;
  /** Deletes a batch of what is too much, what was used longest ago first. True: there is more. */
  step(): boolean;
  /** What the index once was does not count any more. */
  forgetPast(): void;
}

/** `prepare` makes the index that finds chunks by their hash. */
export function createDeadVectors(input: {
  db: Database.Database;
  meta: Meta;
  transactions: Transactions;
  prepare: () => void;
}): DeadVectors {
  const { db, meta, transactions } = input;
  const answeringChunks = db
    .prepare<[], number>(
      "SELECT coalesce(sum(chunks), 0) FROM files WHERE generation IN (SELECT id FROM generations WHERE state = 'active')",
    )
    .pluck();
  const allChunks = db.prepare<[], number>("SELECT coalesce(sum(chunks), 0) FROM files").pluck();
  const perSpace = db.prepare<[], { spaceId: number; vectors: number }>(
    "SELECT space_id AS spaceId, count(*) AS vectors FROM embedding_cache GROUP BY space_id",
  );
  const oldest = db.prepare<[number, number], { hash: HashKey; vectorId: number }>(`
    SELECT hash, vector_id AS vectorId FROM embedding_cache e
    WHERE space_id = ? AND NOT EXISTS (SELECT 1 FROM chunks c WHERE c.hash = e.hash)
    ORDER BY used_at, vector_id LIMIT ?
  `);
  const deleteRow = db.prepare<[HashKey, number]>("DELETE FROM embedding_cache WHERE hash = ? AND space_id = ?");
  const deleteVector = db.prepare<[number]>("DELETE FROM vectors WHERE id = ?");

  /** Of all stores: they share the vectors. */
  const answering = (): number => answeringChunks.get() ?? 0;
  const noted = (): number => Number(meta.get(metaKeys.mostChunks) ?? 0);

  /** A space that has too many vectors, and how many. Chunks that lack theirs are counted as if they had it. */
  function overfull(): { spaceId: number; surplus: number } | undefined {
    const kept = Math.max(fewestKept, noted(), answering());
    const chunks = allChunks.get() ?? 0;
    return perSpace
      .all()
      .map(({ spaceId, vectors }) => ({ spaceId, surplus: vectors - chunks - kept }))
      .find(({ surplus }) => surplus > kept * worthwhileShare);
  }

  return {
    note() {
      if (transactions.read(() => answering() <= growthNoted * noted())) return;
      transactions.writeIfFree(() => {
        meta.set(metaKeys.mostChunks, String(Math.max(noted(), answering())));
      });
    },
    step() {
      if (transactions.read(overfull) === undefined) return false;
      input.prepare();
      const deleted = transactions.writeIfFree(() => {
        const space = overfull();
        const entries = space ? oldest.all(space.spaceId, Math.min(space.surplus, batchVectors)) : [];
        for (const { hash, vectorId } of entries) {
          if (space) deleteRow.run(hash, space.spaceId);
          deleteVector.run(vectorId);
        }
        return entries.length;
      });
      return deleted === batchVectors;
    },
    forgetPast() {
      transactions.write(() => {
        const chunks = answering();
        // An index without a note may be one whose disk is not there now.
        if (chunks > 0) meta.set(metaKeys.mostChunks, String(chunks));
      });
    },
  };
}
