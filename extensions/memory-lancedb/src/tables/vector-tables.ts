import type { Table } from "@lancedb/lancedb";
import type { ChunkStore, StoredFile, VectorSpace } from "@memslot/indexing";
import { oneOf } from "../lance/filter.ts";
import { rowsOf, tableOf } from "../lance/rows.ts";
import { inMemoryAtMost, type ListedFile } from "./cached-file-listing.ts";
import { type SpaceTable, spaceId, type Tables, vectorColumns, vectorsTable, VersionCache } from "./tables.ts";

/** Minimum number of unused vectors that are kept; a larger index keeps as many as it has chunks. */
const fewestKept = 64;
const deletedAtOnce = 2000;

interface SpaceVectors {
  space: VectorSpace;
  vectors: Map<string, Float32Array | undefined>;
  isInMemory: boolean;
}

export class Vectors {
  readonly #tables: Tables;
  readonly #cache = new VersionCache<SpaceVectors>(8);
  readonly #keepsInMemory: boolean;

  constructor(tables: Tables, keepsInMemory: boolean) {
    this.#tables = tables;
    this.#keepsInMemory = keepsInMemory;
  }

  /** Call it within a write. If two hosts put in the same text at once, LanceDB makes the later one check again. */
  async put(space: VectorSpace, entries: Parameters<ChunkStore["putVectors"]>[1]): Promise<Table> {
    const latest = [...new Map(entries.map((entry) => [entry.hash, entry])).values()];
    const table = await this.#tables.makeSpace(space);
    const { version } = await table
      .mergeInsert("hash")
      .whenMatchedUpdateAll()
      .whenNotMatchedInsertAll()
      .execute(tableOf(vectorColumns(space.dimensions), latest));
    await this.#cache.follow(spaceId(space), version, ({ vectors, isInMemory }) => {
      for (const { hash, vector } of latest) vectors.set(hash, isInMemory ? unit(vector) : undefined);
      return !isInMemory || vectors.size <= inMemoryAtMost;
    });
    return table;
  }

  async versions(): Promise<string[]> {
    const versions = this.#tables.spaces().map(async (id) => {
      const opened = await this.#tables.openSpace(id, true);
      return opened ? [`${id}:${await opened.table.version()}`] : [];
    });
    return (await Promise.all(versions)).flat();
  }

  async inMemory(opened: SpaceTable): Promise<SpaceVectors["vectors"] | undefined> {
    return (await this.#isSmall(opened.table)) ? (await this.#read(opened)).vectors : undefined;
  }

  async embeddedIn(files: Iterable<ListedFile>, latest: boolean): Promise<StoredFile[]> {
    const spaces = this.#tables.spaces().map(async (id) => {
      const opened = await this.#tables.openSpace(id, latest);
      return opened ? [await this.#read(opened)] : [];
    });
    const known = (await Promise.all(spaces)).flat();
    return Array.from(files, ({ chunks, ...file }) => ({
      ...file,
      embedded: known.flatMap(({ space, vectors }) => (chunks.every(({ hash }) => vectors.has(hash)) ? [space] : [])),
    }));
  }

  /** Deletes vectors of texts that no chunk has: all, or none until they are many. Call it within a write. */
  async dropUnused(used: readonly ReadonlyMap<string, unknown>[], all: boolean): Promise<void> {
    const kept = all ? 0 : Math.max(fewestKept, ...used.map(({ size }) => size));
    for (const id of this.#tables.spaces()) {
      const opened = await this.#tables.openSpace(id, true);
      if (!opened) continue;
      const { vectors } = await this.#read(opened);
      const unused = [...vectors.keys()].filter((hash) => used.every((chunks) => !chunks.has(hash)));
      if (unused.length <= kept) continue;
      if (unused.length === vectors.size) await this.#tables.drop(vectorsTable(id));
      else
        for (let start = 0; start < unused.length; start += deletedAtOnce)
          await opened.table.delete(oneOf("hash", unused.slice(start, start + deletedAtOnce)));
    }
  }

  forget(): void {
    this.#cache.clear();
  }

  async #isSmall(table: Table): Promise<boolean> {
    return this.#keepsInMemory && (await table.countRows()) <= inMemoryAtMost;
  }

  #read({ table, space }: SpaceTable): Promise<SpaceVectors> {
    return this.#cache.get(spaceId(space), table, async () => {
      const isInMemory = await this.#isSmall(table);
      const vectors: SpaceVectors["vectors"] = new Map();
      const query = table.query().select(isInMemory ? ["hash", "vector"] : ["hash"]);
      for await (const { hash, vector } of rowsOf<{ hash: string; vector?: { toArray(): Float32Array } }>(query))
        vectors.set(hash, vector && unit(vector.toArray()));
      return { space, vectors, isInMemory };
    });
  }
}

export function unit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return vector.map((value) => value / length);
}
