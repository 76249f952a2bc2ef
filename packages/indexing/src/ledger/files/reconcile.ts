import type Database from "better-sqlite3";
import type { FileKey, StoredFile, VectorSpace } from "../../chunk-store.ts";
import { spaceName } from "../../chunk-store.ts";
import type { Reconciled } from "../ledger.ts";
import type { HashKey } from "../cache/hash-key.ts";
import type { VectorsOfStore } from "../vectors/vectors-of-store.ts";
import type { FileTables } from "./file-tables.ts";

/** Compares the files of a generation with those that the store holds, inside a transaction. */
export type Reconcile = (generation: number, table: FileTables, held: readonly StoredFile[]) => Reconciled;

interface KnownFile extends FileKey {
  id: number;
  hash: string;
  recipe: string;
}

export function createReconcile(
  db: Database.Database,
  vectors: Pick<VectorsOfStore, "noted" | "lacks" | "adopt">,
): Reconcile {
  const list = db.prepare<[number], KnownFile>(
    "SELECT id, path, source, hash, recipe FROM files WHERE generation = ? ORDER BY id",
  );
  const hashesOf = db.prepare<[number], HashKey>("SELECT DISTINCT hash FROM chunks WHERE file_id = ?").pluck();

  /** What the store says of the vectors of files that are the same on both sides. */
  function compareVectors(files: readonly { id: number; embedded: readonly VectorSpace[] }[]): void {
    const told = files.map(({ id, embedded }) => ({
      hashes: hashesOf.all(id),
      names: new Set(embedded.map(spaceName)),
      embedded,
    }));
    for (const { id: spaceId, name } of vectors.noted())
      for (const { hashes, names } of told) if (!names.has(name)) vectors.lacks(spaceId, hashes);
    // Last: a text that one file has lost may be in another that has all of its vectors.
    for (const { hashes, embedded } of told) for (const space of embedded) vectors.adopt(space, hashes);
  }

  return (generation, table, held) => {
    const left = new Map(held.map((file) => [nameOf(file), file]));
    const lost: FileKey[] = [];
    const unknown: StoredFile[] = [];
    const same: { id: number; embedded: readonly VectorSpace[] }[] = [];
    for (const { id, path, source, hash, recipe } of list.all(generation)) {
      const name = nameOf({ path, source });
      const file = left.get(name);
      left.delete(name);
      if (file?.hash === hash && file.recipe === recipe) {
        if (file.embedded) same.push({ id, embedded: file.embedded });
        continue;
      }
      lost.push({ path, source });
      if (file) unknown.push(file);
    }
    unknown.push(...left.values());
    if (lost.length > 0) table.removeInside(lost);
    compareVectors(same);
    return { lost, unknown };
  };
}

function nameOf({ path, source }: FileKey): string {
  return JSON.stringify([source, path]);
}
