import type { Table } from "@lancedb/lancedb";
import { type ChunkListing, emptyListing, type ListingChange, readListing } from "./tables/chunk-listing.ts";
import { isGone } from "./store-failure.ts";
import { type Tables, chunkColumns } from "./tables/tables.ts";

/** Builds whose listings are kept: the one that answers, and the next. */
const keptListings = 2;

/** The tables of the builds, and what is in them. */
export interface Generations {
  /** Undefined where nothing has been written yet. */
  table(generation: number): Promise<Table | undefined>;
  makeTable(generation: number): Promise<Table>;
  /** What is in the build now, whichever process has written it last. */
  listing(generation: number): Promise<ChunkListing>;
  /** Called after each write of this process. */
  follow(generation: number, change: ListingChange): void;
  /** What is known may be wrong: it is read again when it is needed. */
  distrust(generation: number): void;
}

export function generationTable(generation: number): string {
  return `chunks_${generation}`;
}

export function createGenerations(tables: Tables): Generations {
  const listings = new Map<number, ChunkListing>();
  const reading = new Map<number, Promise<ChunkListing>>();

  function keep(generation: number, listing: ChunkListing): void {
    listings.delete(generation);
    listings.set(generation, listing);
    for (const old of listings.keys()) if (listings.size > keptListings) listings.delete(old);
  }

  async function load(generation: number): Promise<ChunkListing> {
    const table = await tables.open(generationTable(generation));
    if (!table) return emptyListing();
    try {
      const version = await table.version();
      const known = listings.get(generation);
      if (known?.version === version) return known;
      const listing = await readListing(table, version);
      // A write of this process may have ended meanwhile, and is ahead of what was read.
      const newer = listings.get(generation);
      if (newer && newer.version > version) return newer;
      keep(generation, listing);
      return listing;
    } catch (error) {
      if (!isGone(error)) throw error;
      tables.forget();
      return emptyListing();
    }
  }

  return {
    table: (generation) => tables.open(generationTable(generation)),
    makeTable: (generation) => tables.make(generationTable(generation), chunkColumns),
    async listing(generation) {
      const running = reading.get(generation);
      // One that began earlier may lack what was written since.
      if (running) await running.catch(() => undefined);
      const next = reading.get(generation) ?? load(generation);
      reading.set(generation, next);
      try {
        return await next;
      } finally {
        if (reading.get(generation) === next) reading.delete(generation);
      }
    },
    follow(generation, change) {
      if (listings.get(generation)?.apply(change) !== true) listings.delete(generation);
    },
    distrust: (generation) => void listings.delete(generation),
  };
}
