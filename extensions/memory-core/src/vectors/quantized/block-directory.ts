import type { MemorySource } from "@memslot/core";
import type { VectorQuery } from "@memslot/indexing";
import { filterParameters, type Generations, isAsked } from "@memslot/indexing/ledger-tables";
import type Database from "better-sqlite3";
import { type BitChoice, sumOfThresholds } from "./bit-blocks.ts";
import type { BlockSlots, CodeTables, TailRow } from "./code-tables.ts";
import { blockRows } from "./quantize-vector.ts";

export interface CodeDirectory {
  blocks: readonly BlockSlots[];
  tail: readonly TailRow[];
  mean: Float32Array | undefined;
  bits: (BitChoice & { sum: number }) | undefined;
}

/** Reads changes since the last call, by any process. Call inside a transaction. Throws if damaged. */
export type ReadDirectory = (generation: number, tables: CodeTables) => CodeDirectory;

export function createReadDirectory(db: Database.Database): ReadDirectory {
  const dataVersion = db.prepare<[], number>("PRAGMA data_version").pluck();
  const ownChanges = db.prepare<[], number>("SELECT total_changes()").pluck();
  const slots = new Map<number, BlockSlots>();
  let known: { key: string; directory: CodeDirectory } | undefined;
  let knownGeneration = 0;

  function read(tables: CodeTables): CodeDirectory {
    const blocks: BlockSlots[] = [];
    const left = new Set(slots.keys());
    for (const { block, version } of tables.versions()) {
      left.delete(block);
      const before = slots.get(block);
      const now = before?.version === version ? before : tables.slots(block);
      if (now?.ids.length !== blockRows || now.files.length !== blockRows)
        throw new Error(`block ${block} of the codes has no ${blockRows} slots`);
      slots.set(block, now);
      blocks.push(now);
    }
    for (const block of left) slots.delete(block);
    const bits = tables.bits();
    return {
      blocks,
      tail: tables.tail(),
      mean: tables.mean(),
      bits: bits && bits.thresholds.length > 0 ? { ...bits, sum: sumOfThresholds(bits.thresholds) } : undefined,
    };
  }

  return (generation, tables) => {
    // Versions of other and own connections; a rollback only causes another read.
    const key = `${generation} ${dataVersion.get()} ${ownChanges.get()}`;
    if (known?.key === key) return known.directory;
    known = undefined;
    if (generation !== knownGeneration) slots.clear();
    knownGeneration = generation;
    const directory = read(tables);
    known = { key, directory };
    return directory;
  };
}

export function countRows({ blocks, tail }: CodeDirectory): number {
  return blocks.length * blockRows + tail.length;
}

export interface SlotFilter {
  sources: readonly MemorySource[];
  files: Uint8Array | undefined;
}

const remembered = 8;

/** Files in the scope of a query, by id. Call inside a transaction. */
export type ScopeFiles = (generation: number, query: Pick<VectorQuery, "sources" | "scope">) => Uint8Array;

export function createScopeFiles(db: Database.Database, generations: Pick<Generations, "revision">): ScopeFiles {
  const asked = db
    .prepare<[Record<string, unknown>], number>(`SELECT f.id FROM files f WHERE ${isAsked(true)}`)
    .pluck();
  const known = new Map<string, Uint8Array>();
  return (generation, query) => {
    const key = JSON.stringify([generation, generations.revision(), query.sources, query.scope]);
    let files = known.get(key);
    if (files === undefined) {
      const ids = asked.all(filterParameters(generation, query));
      files = new Uint8Array(ids.reduce((highest, id) => Math.max(highest, id), 0) + 1);
      for (const id of ids) files[id] = 1;
    }
    known.delete(key);
    known.set(key, files);
    for (const oldest of known.keys()) if (known.size > remembered) known.delete(oldest);
    return files;
  };
}
