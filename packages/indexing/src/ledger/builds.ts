import { isOfOlderRules } from "../secrets/version.ts";
import { type HashKey, forgetText } from "./vectors/vector-cache.ts";
import type { Companion } from "./store-search-tables.ts";
import { sqlOf } from "./sql.ts";
import type { FileTables, FileTarget } from "./file-tables.ts";
import type { LedgerCalls } from "./ledger.ts";
import { StoreFailure } from "./thread/remote-calls.ts";
import type { Vectors } from "./vectors/vectors.ts";
import type { LedgerBase } from "./generations.ts";

export interface Builds {
  calls: Pick<LedgerCalls, "startBuild" | "currentBuild" | "finishBuild" | "abandonBuild">;
  /** The files of the build with this number. Throws if it is not being made any more. */
  tableOf(build: number): FileTables;
  /** Deletes a batch of generations that no longer answer. True: more remain. */
  deleteDropped(): boolean;
}

const batchChunks = 200;

export function createBuilds(
  input: LedgerBase & {
    fileTables: (target: FileTarget) => FileTables;
    vectors: Pick<Vectors, "listener" | "cache">;
    companion: Pick<Companion, "prepare" | "drop">;
  },
): Builds {
  const { db, transactions, generations, vectors, companion } = input;
  const sql = sqlOf(db);
  /** What this process builds, and the one that its present call is about. */
  let started: number | undefined;
  let asked = 0;
  const files = input.fileTables({ generation: () => expectNext(asked), changed: () => undefined });
  const left: number[] = [];

  /** Another process may have started another build or activated this one. */
  function expectNext(id: number): number {
    if (generations.next()?.id === id) return id;
    throw new StoreFailure("BUSY", "another process has ended this rebuild of the index; start it again");
  }

  function drop(id: number): void {
    generations.drop(id);
    vectors.listener.changed();
  }

  // A missing file may return, and its vectors cost requests.
  function isHeld(hash: HashKey, fileId: number): boolean {
    const select = `SELECT 1 FROM chunks WHERE hash = ? UNION ALL SELECT 1 WHERE NOT EXISTS (
      SELECT 1 FROM files f JOIN generations g ON g.state = 'active'
      JOIN files n ON n.generation = g.id AND n.source = f.source AND n.path = f.path WHERE f.id = ?) LIMIT 1`;
    return sql.value(select, hash, fileId) !== undefined;
  }

  function deleteSome(generation: number): boolean {
    const chunks = sql.all<{ id: number; fileId: number; hash: HashKey; recipe: string }>(
      `SELECT c.id, c.file_id AS fileId, c.hash, f.recipe FROM files f CROSS JOIN chunks c ON c.file_id = f.id
       WHERE f.generation = ? LIMIT ${batchChunks}`,
      generation,
    );
    const lastFile = chunks.at(-1)?.fileId;
    for (const { id, fileId, hash, recipe } of chunks) {
      sql.run("DELETE FROM chunks WHERE id = ?", id);
      if (isOfOlderRules(recipe)) forgetText(input, hash, () => isHeld(hash, fileId));
    }
    vectors.listener.wrote({ gone: chunks, added: [] });
    for (const id of new Set(chunks.map(({ fileId }) => fileId)))
      if (id !== lastFile) sql.run("DELETE FROM files WHERE id = ?", id);
    if (chunks.length > 0) vectors.listener.changed();
    if (chunks.length === batchChunks) return true;
    const some = `DELETE FROM files WHERE id IN (SELECT id FROM files WHERE generation = ? LIMIT ${batchChunks})`;
    return sql.run(some, generation).changes > 0;
  }

  const calls: Builds["calls"] = {
    startBuild(name) {
      const id = transactions.write(() => {
        const next = generations.next();
        if (next?.name === name) return next.id;
        if (next) drop(next.id);
        return generations.add(name);
      });
      started = id;
      companion.prepare(id);
      return id;
    },
    currentBuild() {
      const next = transactions.read(() => generations.next());
      started = next?.id;
      return next && { name: next.name, build: next.id };
    },
    finishBuild() {
      if (started === undefined) throw new StoreFailure("INVALID_ARGUMENT", "no rebuild was started to be finished");
      const id = started;
      vectors.cache.noteChunks();
      // Outside of the transaction, so that the first search finds everything in place.
      companion.prepare(transactions.read(() => expectNext(id)));
      transactions.write(() => {
        expectNext(id);
        generations.flip(Date.now());
        generations.revise();
        vectors.listener.changed();
      });
      started = undefined;
    },
    abandonBuild() {
      started = undefined;
      if (generations.next() === undefined) return;
      transactions.write(() => {
        const next = generations.next();
        if (next) drop(next.id);
      });
    },
  };

  return {
    calls,
    tableOf(build) {
      asked = expectNext(build);
      return files;
    },
    deleteDropped() {
      const generation = generations.dropped(left);
      if (generation === undefined) return false;
      const more = transactions.writeIfFree(() => {
        const dropped = companion.drop(generation);
        if (dropped === "some" || deleteSome(generation)) return true;
        if (dropped === "kept") left.push(generation);
        else generations.forget(generation);
        return true;
      });
      return more ?? false;
    },
  };
}
