import type { Table } from "@lancedb/lancedb";
import type { MemorySource } from "@memslot/core";
import { rowsOf } from "../tables/arrow-rows.ts";
import { type ChangeLog, createChangeLog } from "../tables/change-log.ts";
import type { ChunkListing } from "../tables/chunk-listing.ts";

/**
 * Which vectors a space has, as they are in one version of its table, each with the sources that stand in its row. That
 * is where chunks with this text were when the row was written, so it may be out of date: a search asks for the rows by
 * their sources, and names those besides whose row says something else than the chunks do.
 */
export interface VectorListing {
  readonly version: number;
  readonly vectors: ReadonlyMap<string, string>;
  /** Rows whose vector another row has too. */
  readonly doubles: number;
  /** How many vectors there are with the same sources in their row. */
  bySources(): ReadonlyMap<string, number>;
  /** The texts whose rows have come or changed since it was read. */
  readonly log: ChangeLog;
  /** Rows that this process has put in. False where somebody else has written in between: it has to be read again. */
  apply(version: number, rows: ReadonlyMap<string, string>): boolean;
}

/** Of a space without vectors. */
export function noVectors(): VectorListing {
  return vectorListingOf(0, new Map(), 0);
}

function vectorListingOf(firstVersion: number, vectors: Map<string, string>, doubles: number): VectorListing {
  const log = createChangeLog();
  let version = firstVersion;
  const counts = new Map<string, number>();
  const count = (sources: string, more: number): void => {
    const left = (counts.get(sources) ?? 0) + more;
    if (left > 0) counts.set(sources, left);
    else counts.delete(sources);
  };
  for (const sources of vectors.values()) count(sources, 1);
  return {
    get version() {
      return version;
    },
    vectors,
    doubles,
    log,
    bySources: () => counts,
    apply(next, rows) {
      if (next !== version + 1) return false;
      version = next;
      for (const [hash, sources] of rows) {
        const before = vectors.get(hash);
        if (before !== undefined) count(before, -1);
        count(sources, 1);
        vectors.set(hash, sources);
        log.add(hash);
      }
      return true;
    },
  };
}

export async function readVectorListing(table: Table, version: number): Promise<VectorListing> {
  const vectors = new Map<string, string>();
  let rows = 0;
  for await (const { hash, sources } of rowsOf<{ hash: string; sources: string }>(
    table.query().select(["hash", "sources"]),
  )) {
    vectors.set(hash, sources);
    rows++;
  }
  return vectorListingOf(version, vectors, rows - vectors.size);
}

/** The sources of the chunks that have a text, as they stand in a row. No source: the text of no chunk. */
export function sourcesOf(chunks: readonly { source: MemorySource }[] | undefined): string {
  return [...new Set(chunks?.map(({ source }) => source))].toSorted().join("\n");
}

export function holdsSource(sources: string, asked: ReadonlySet<MemorySource>): boolean {
  return sources !== "" && sources.split("\n").some((source) => asked.has(source));
}

/** The rows that say something else than the chunks do: by hash, what they should say. */
export type StaleRows = ReadonlyMap<string, string>;

/** Looks at what has changed since the last time, where that is known, and at everything otherwise. */
export function createStaleRows(): (listing: ChunkListing, vectors: VectorListing) => StaleRows {
  const stale = new Map<string, string>();
  let known: { listing: ChunkListing; vectors: VectorListing; chunkPlace: number; vectorPlace: number } | undefined;

  return (listing, vectors) => {
    const isSame = known?.listing === listing && known.vectors === vectors;
    const chunksSince = isSame ? listing.log.since(known?.chunkPlace ?? 0) : undefined;
    const vectorsSince = isSame ? vectors.log.since(known?.vectorPlace ?? 0) : undefined;
    if (!chunksSince || !vectorsSince) stale.clear();
    const touched = chunksSince && vectorsSince ? [...chunksSince, ...vectorsSince] : vectors.vectors.keys();
    known = { listing, vectors, chunkPlace: listing.log.end(), vectorPlace: vectors.log.end() };
    const chunks = listing.byHash();
    for (const hash of touched) {
      const sources = vectors.vectors.get(hash);
      const own = chunks.get(hash);
      // Nearly all are of one source.
      const isRight = sources === undefined || (own?.length === 1 ? own[0]?.source : sourcesOf(own)) === sources;
      if (isRight) stale.delete(hash);
      else stale.set(hash, sourcesOf(own));
    }
    return stale;
  };
}
