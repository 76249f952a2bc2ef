import type { MemorySource } from "@memslot/core";
import type { VectorQuery } from "@memslot/indexing";
import { filterParameters, type Generations, isAsked } from "@memslot/indexing/ledger-tables";
import type Database from "better-sqlite3";
import { type BitChoice, sumOfThresholds } from "./bit-blocks.ts";
import type { BlockSlots, CodeTables, TailRow } from "./code-tables.ts";
import { blockRows } from "./code-vector.ts";

/** What of the codes of a generation is always at hand: everything but the codes of its blocks. */
export interface CodeDirectory {
  blocks: readonly BlockSlots[];
  tail: readonly TailRow[];
  /** What codes are differences from; undefined where they are not. */
  mean: Float32Array | undefined;
  /** What bits are made with; undefined where there are none. */
  bits: (BitChoice & { sum: number }) | undefined;
}

/** Reads what has changed since the last time, whoever changed it. Called inside a transaction. Throws where it is damaged. */
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
    // Of another connection, and of this one; what was rolled back only makes it read once more.
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

/** Chunks that are in it. */
export function countRows({ blocks, tail }: CodeDirectory): number {
  return blocks.length * blockRows + tail.length;
}

/** Whether a slot is asked for: those of some sources, and of these only in some files. */
export interface SlotFilter {
  sources: readonly MemorySource[];
  /** 1 for each file that is within the scope, by its id; absent: all. */
  files: Uint8Array | undefined;
}

/** Scopes whose files are remembered. */
const remembered = 8;

/** 1 for each file of the generation that a query with a scope is about, by its id. Called inside a transaction. */
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
