import { createHash } from "node:crypto";
import type { Table } from "@lancedb/lancedb";
import type { VectorSpace } from "@memslot/indexing";
import { metaKeys, type MetaTable, type SpaceRecord } from "../tables/meta.ts";
import { isGone } from "../store-failure.ts";
import { type Tables, vectorColumns } from "../tables/tables.ts";
import { noVectors, readVectorListing, type VectorListing } from "./vector-listing.ts";

/** The spaces of this index, each with a table for its vectors. */
export interface Spaces {
  /** Names the table of the space, whether it is there or not: the same on every machine. */
  idOf(space: VectorSpace): string;
  /** Records the space where it is new. Within a write. */
  add(space: VectorSpace): Promise<string>;
  /** Records that it is the one that was written to last. Within a write. */
  written(space: VectorSpace): Promise<string>;
  table(id: string): Promise<Table | undefined>;
  makeTable(space: VectorSpace): Promise<Table>;
  /** Which vectors it has now, whichever process has written them. */
  listing(id: string): Promise<VectorListing>;
  /** Vectors that this process has added in a write of its own. */
  follow(id: string, version: number, added: ReadonlyMap<string, string>): void;
  distrust(id: string): void;
}

export function spaceTable(id: string): string {
  return `vectors_${id}`;
}

export function createSpaces(tables: Tables, meta: MetaTable): Spaces {
  const listings = new Map<string, VectorListing>();

  function idOf({ provider, model, providerKey, dimensions }: VectorSpace): string {
    return createHash("sha256")
      .update(JSON.stringify([provider, model, providerKey, dimensions]))
      .digest("hex")
      .slice(0, 16);
  }

  async function record(space: VectorSpace, writtenAt: number): Promise<string> {
    const id = idOf(space);
    const { provider, model, providerKey, dimensions } = space;
    const value: SpaceRecord = { id, provider, model, providerKey, dimensions, writtenAt };
    await meta.write([{ key: metaKeys.space(id), value }]);
    return id;
  }

  return {
    idOf,
    async add(space) {
      const id = idOf(space);
      return (await meta.read()).spaces.some((known) => known.id === id) ? id : await record(space, 0);
    },
    async written(space) {
      const id = idOf(space);
      const [first] = (await meta.read()).spaces;
      if (first?.id === id && first.writtenAt > 0) return id;
      // Also when the clock was set back.
      return await record(space, Math.max(Date.now(), (first?.writtenAt ?? 0) + 1));
    },
    table: (id) => tables.open(spaceTable(id)),
    makeTable: (space) => tables.make(spaceTable(idOf(space)), vectorColumns(space.dimensions)),
    async listing(id) {
      const table = await tables.open(spaceTable(id));
      if (!table) return noVectors();
      try {
        const version = await table.version();
        const known = listings.get(id);
        if (known?.version === version) return known;
        const listing = await readVectorListing(table, version);
        listings.set(id, listing);
        return listing;
      } catch (error) {
        if (!isGone(error)) throw error;
        tables.forget();
        return noVectors();
      }
    },
    follow(id, version, added) {
      if (listings.get(id)?.apply(version, added) !== true) listings.delete(id);
    },
    distrust: (id) => void listings.delete(id),
  };
}
