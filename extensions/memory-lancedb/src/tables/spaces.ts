import type { ChunkStore, StoredFile, VectorSpace } from "@memslot/indexing";
import { rowsOf, tableOf } from "../lance/arrow-rows.ts";
import { oneOf } from "../lance/filter.ts";
import { inMemoryAtMost, type ListedFile } from "./listing.ts";
import { type SpaceTable, spaceId, type Tables, vectorColumns, vectorsTable } from "./tables.ts";

/** A small index keeps so many vectors of texts that no chunk has; a larger one as many as it has chunks. */
const fewestKept = 64;
const deletedAtOnce = 2000;

type Entries = Parameters<ChunkStore["putVectors"]>[1];

/** The texts that have a vector, in one version of the table of a space. */
interface KnownSpace {
  version: number;
  /** With their vectors where they are kept in memory, each of unit length. */
  vectors: Map<string, Float32Array | undefined>;
  isInMemory: boolean;
}

/** The texts that have a vector in a space. */
interface SpaceTexts {
  space: VectorSpace;
  hashes: ReadonlyMap<string, unknown>;
}

/** The spaces of this index, each with a table for its vectors. */
export class Spaces {
  readonly #tables: Tables;
  readonly #known = new Map<string, KnownSpace>();
  readonly #reading = new Map<string, Promise<KnownSpace>>();
  /** Those that were searched. */
  readonly #searched = new Set<string>();
  readonly #seen = new Set<string>();

  readonly #keepsVectors: boolean;

  /** `keepsVectors`: those of a small space are kept in memory. */
  constructor(tables: Tables, keepsVectors: boolean) {
    this.#tables = tables;
    this.#keepsVectors = keepsVectors;
  }

  /** Within a write. Of two hosts that put in the same text at once, LanceDB lets the later one look again. */
  async put(space: VectorSpace, entries: Entries): Promise<SpaceTable["table"]> {
    const latest = [...new Map(entries.map((entry) => [entry.hash, entry])).values()];
    const table = await this.#tables.makeSpace(space);
    this.see(spaceId(space));
    const { version } = await table
      .mergeInsert("hash")
      .whenMatchedUpdateAll()
      .whenNotMatchedInsertAll()
      .execute(tableOf(vectorColumns(space.dimensions), latest));
    const known = this.#known.get(spaceId(space));
    if (known?.version !== version - 1 || (known.isInMemory && known.vectors.size + latest.length > inMemoryAtMost))
      this.#known.delete(spaceId(space));
    else {
      known.version = version;
      for (const { hash, vector } of latest) known.vectors.set(hash, known.isInMemory ? unit(vector) : undefined);
    }
    return table;
  }

  /** It has a table. */
  see(id: string): void {
    this.#seen.add(id);
  }

  /** The spaces that had a table when the names were read last, and those that were seen to have one since. */
  ids(listed: readonly string[]): string[] {
    return [...new Set([...listed, ...this.#seen])].toSorted();
  }

  /** The newest versions of these spaces: each changes with the vectors. */
  async versions(ids: readonly string[]): Promise<string[]> {
    const versions = ids.map(async (id) => {
      const opened = await this.#tables.openSpace(id, true);
      return opened ? [`${id}:${await opened.table.version()}`] : [];
    });
    return (await Promise.all(versions)).flat();
  }

  /** All vectors of a space, by the hashes of their texts; undefined where they are not kept in memory. */
  async inMemory(id: string, opened: SpaceTable): Promise<ReadonlyMap<string, Float32Array | undefined> | undefined> {
    this.#searched.add(id);
    if (!(await this.#isInMemory(opened))) return undefined;
    return (await this.#read(id, opened)).vectors;
  }

  /** Begins to read those that were searched before and are kept in memory, as they are open. */
  fetch(ids: readonly string[]): void {
    for (const id of ids.filter((each) => this.#searched.has(each))) {
      // Whoever asks for it meets the same failure.
      void this.#tables
        .openSpace(id, false)
        .then((opened) => opened && this.inMemory(id, opened))
        .catch(() => undefined);
    }
  }

  /** The texts that have a vector in each of these spaces. */
  async known(ids: readonly string[], look: boolean): Promise<SpaceTexts[]> {
    const known = ids.map(async (id) => {
      const opened = await this.#tables.openSpace(id, look);
      return opened ? [{ space: opened.space, hashes: (await this.#read(id, opened)).vectors }] : [];
    });
    return (await Promise.all(known)).flat();
  }

  /** Deletes vectors of texts that no chunk has. Within a write. */
  async dropUnused(ids: readonly string[], used: readonly ReadonlyMap<string, unknown>[], all: boolean): Promise<void> {
    const kept = all ? 0 : Math.max(fewestKept, ...used.map(({ size }) => size));
    for (const id of ids) {
      const opened = await this.#tables.openSpace(id, true);
      if (!opened) continue;
      const { vectors } = await this.#read(id, opened);
      const unused = [...vectors.keys()].filter((hash) => used.every((chunks) => !chunks.has(hash)));
      if (unused.length <= kept) continue;
      this.#known.delete(id);
      if (unused.length === vectors.size) await this.#tables.drop(vectorsTable(id));
      else
        for (let start = 0; start < unused.length; start += deletedAtOnce)
          await opened.table.delete(oneOf("hash", unused.slice(start, start + deletedAtOnce)));
    }
  }

  forget(): void {
    this.#known.clear();
  }

  async #isInMemory({ table }: SpaceTable): Promise<boolean> {
    return this.#keepsVectors && (await table.countRows()) <= inMemoryAtMost;
  }

  /** Those who want the same at once wait for one reading. */
  async #read(id: string, opened: SpaceTable): Promise<KnownSpace> {
    const version = await opened.table.version();
    const known = this.#known.get(id);
    if (known?.version === version) return known;
    const name = `${id} ${version}`;
    const reading =
      this.#reading.get(name) ?? this.#readNow(id, opened, version).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return await reading;
  }

  async #readNow(id: string, opened: SpaceTable, version: number): Promise<KnownSpace> {
    const { table } = opened;
    const isInMemory = await this.#isInMemory(opened);
    const vectors: KnownSpace["vectors"] = new Map();
    const query = table.query().select(isInMemory ? ["hash", "vector"] : ["hash"]);
    for await (const { hash, vector } of rowsOf<{ hash: string; vector?: { toArray(): Float32Array } }>(query))
      vectors.set(hash, vector && unit(vector.toArray()));
    const read = { version, vectors, isInMemory };
    this.#known.set(id, read);
    return read;
  }
}

/** Says of files in which spaces they are embedded. */
export function embeddedIn(files: Iterable<ListedFile>, known: readonly SpaceTexts[]): StoredFile[] {
  return Array.from(files, ({ chunks, ...file }) => ({
    ...file,
    embedded: known.flatMap(({ space, hashes }) => (chunks.every(({ hash }) => hashes.has(hash)) ? [space] : [])),
  }));
}

/** A copy of unit length. */
export function unit(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  return vector.map((value) => value / length);
}
