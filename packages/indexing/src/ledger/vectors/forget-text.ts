import type Database from "better-sqlite3";
import type { HashKey } from "../cache/hash-key.ts";
import { type Meta, metaKeys } from "../file/meta.ts";

/**
 * For a chunk that rules of an earlier version have made: drops its vectors unless its text is held elsewhere, which is only
 * asked where there are some, and has the pages that held it overwritten.
 */
export function createForgetText(input: {
  db: Database.Database;
  meta: Meta;
}): (hash: HashKey, isHeld: () => boolean) => void {
  const { db, meta } = input;
  const cached = db.prepare<[HashKey], number>("SELECT vector_id FROM embedding_cache WHERE hash = ?").pluck();
  const deleteVector = db.prepare<[number]>("DELETE FROM vectors WHERE id = ?");
  const forgetHash = ["embedding_cache", "adopted_vectors", "quarantine"].map((table) =>
    db.prepare<[HashKey]>(`DELETE FROM ${table} WHERE hash = ?`),
  );
  return (hash, isHeld) => {
    meta.set(metaKeys.unwiped, "1");
    const vectorIds = cached.all(hash);
    if (vectorIds.length === 0 || isHeld()) return;
    for (const id of vectorIds) deleteVector.run(id);
    for (const each of forgetHash) each.run(hash);
  };
}
