import type { MemorySource } from "@memslot/core";
import type Database from "better-sqlite3";
import type { IndexHealth } from "../index-row-types.ts";
import type { VectorSpace } from "../chunk-store.ts";
import { type Meta, metaKeys } from "./file/meta.ts";
import type { BeginTables } from "./file/schema.ts";
import type { ChangedChunks } from "./file-tables.ts";
import type { LedgerBase } from "./generations.ts";
import type { Pieces } from "./thread/remote-calls.ts";
import type { IndexPart } from "./upkeep/check-index-parts.ts";
import type { EmbeddedChunks } from "./vectors/vector-spaces.ts";
import type { HashKey } from "./vectors/vector-cache.ts";

export interface KnownSpace {
  id: number;
  dimensions: number;
}

export interface LedgerParts extends LedgerBase {
  vectors: {
    /** Undefined for a space that nothing was ever written to. From then on its vectors are protected. */
    use(space: VectorSpace): number | undefined;
    dimensionsOf(spaceId: number): number | undefined;
    get(spaceId: number, hash: HashKey): Buffer | undefined;
    /** Called outside of transactions, as the index that it needs may have to be made first. */
    chunks(): EmbeddedChunks;
  };
  notice(line: string): void;
}

/** Calls that a companion answers beside those of the ledger, each with the name under which the thread is asked. */
type CompanionCalls = Readonly<Record<string, (...args: never[]) => unknown>>;

/** Search data of a store in the ledger file, updated in its transactions; rebuildable. */
export interface Companion {
  calls: CompanionCalls;
  /** A file was written or removed, inside the transaction. Not asked for generations that are dropped. */
  wrote(generation: number, chunks: ChangedChunks): void;
  embedded(
    spaceId: number,
    chunk: { id: number; source: MemorySource; generation: number },
    vector: Float32Array,
  ): void;
  /** Announces vector searches in this space. Outside of transactions. */
  useSpace(space: KnownSpace): void;
  /** Lays out what a build holds, before it takes over. Outside of transactions. */
  prepare(generation: number): void;
  drop(generation: number): "some" | "kept" | "none";
  /** Number of chunks of the generation; undefined if unknown. Inside a transaction. */
  count(generation: number): number | undefined;
  /** A small deferrable task. `isQuiet`: no recent call. True: there may be more. */
  tidy(isQuiet: boolean): Promise<boolean>;
  /** Checked before chunks are removed, and after the vectors. */
  parts: { first: readonly IndexPart[]; last: readonly IndexPart[] };
  compact(generation: number): Pieces<void>;
  health(): Pick<IndexHealth, "fts" | "vector">;
}

export interface CompanionTables {
  begin: BeginTables;
  /** Makes them fit the chunks, once the tables of the ledger are there. */
  settle(input: {
    db: Database.Database;
    meta: Meta;
    store: string;
    path: string;
    write: (work: () => void) => void;
  }): {
    notice?: string | undefined;
    open(parts: LedgerParts): Companion;
  };
}

export interface CompanionModule {
  createCompanion(settings: unknown): CompanionTables;
}

export const noCompanion: CompanionTables = {
  begin: () => undefined,
  settle: () => ({
    open: ({ meta }) => ({
      ...nothing,
      // Another store may have laid them out for fast search.
      embedded(spaceId, { generation }) {
        const key = `${metaKeys.vectorSpace}${generation}`;
        if (meta.get(key) === String(spaceId)) meta.delete(key);
      },
    }),
  }),
};

const nothing: Companion = {
  calls: {},
  wrote: () => undefined,
  embedded: () => undefined,
  useSpace: () => undefined,
  prepare: () => undefined,
  drop: () => "none",
  count: () => undefined,
  tidy: async () => false,
  parts: { first: [], last: [] },
  async *compact() {},
  health: () => ({ fts: { enabled: false, available: false }, vector: { enabled: false } }),
};
