import { MemoryError } from "@memslot/core";
import type { ChunkIndex, SpaceStats, VectorSpace } from "@memslot/indexing";
import type { Table } from "@lancedb/lancedb";
import { allRows, numbersOf, tableOf } from "../tables/arrow-rows.ts";
import type { ChunkListing, ListedChunk } from "../tables/chunk-listing.ts";
import { equals, oneOf } from "../tables/filter.ts";
import type { Generations } from "../generations.ts";
import type { IndexView } from "../index-view.ts";
import { isAsked } from "../words/path-scope.ts";
import type { Quarantine } from "./quarantine.ts";
import type { SharedCache } from "./shared-cache.ts";
import type { Spaces } from "./spaces.ts";
import { vectorColumns } from "../tables/tables.ts";
import { sourcesOf } from "./vector-listing.ts";
import type { WriteQueue } from "../tables/write-queue.ts";

/** Vectors that are taken over from the shared cache at once. */
const takenAtOnce = 500;
/** Chunks whose texts are read with one query. */
const readAtOnce = 1000;

type VectorCalls = Pick<
  ChunkIndex,
  "useSpace" | "pendingVectors" | "putVectors" | "knownVectors" | "spaces" | "spaceStats"
>;

interface Entry {
  hash: string;
  vector: Float32Array;
}

export interface Vectors extends VectorCalls {
  vectorOf(space: VectorSpace, hash: string): Promise<Float32Array | undefined>;
  /** Vectors of all spaces, and the bytes of their numbers. */
  counts(): Promise<{ cachedVectors: number; cachedVectorBytes: number }>;
}

/** The vectors by space and hash. `wrote` is called after each write, with the table. */
export function createVectors(input: {
  spaces: Spaces;
  generations: Generations;
  view: IndexView;
  writes: WriteQueue;
  quarantine: Quarantine;
  shared: SharedCache;
  wrote: (table: Table) => void;
}): Vectors {
  const { spaces, generations, view, writes, quarantine, shared } = input;
  /** By space: texts that the shared cache was asked for and does not have. */
  const notShared = new Map<string, Set<string>>();

  async function put(space: VectorSpace, entries: readonly Entry[]): Promise<void> {
    const latest = [...new Map(entries.map((entry) => [entry.hash, entry])).values()];
    await writes.run(async () => {
      const id = await spaces.written(space);
      const table = await spaces.makeTable(space);
      const [{ active }, { vectors }] = await Promise.all([view.read(), spaces.listing(id)]);
      const chunks = active.byHash();
      const rows = latest.map(({ hash, vector }) => ({ hash, sources: sourcesOf(chunks.get(hash)), vector }));
      const data = tableOf(vectorColumns(space.dimensions), rows);
      try {
        // What nobody has can be put at the end: nothing has to be looked for.
        const { version } = latest.some(({ hash }) => vectors.has(hash))
          ? await table.mergeInsert("hash").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(data)
          : await table.add(data);
        spaces.follow(id, version, new Map(rows.map(({ hash, sources }) => [hash, sources])));
      } catch (error) {
        spaces.distrust(id);
        throw error;
      }
      await quarantine.release(
        id,
        latest.map(({ hash }) => hash),
      );
      input.wrote(table);
    });
  }

  /** Takes vectors over from the shared cache. Gives the texts that it has none for. */
  async function takeOver(space: VectorSpace, hashes: readonly string[]): Promise<ReadonlySet<string>> {
    const id = spaces.idOf(space);
    const missing = notShared.get(id) ?? new Set<string>();
    notShared.set(id, missing);
    const asked = hashes.filter((hash) => !missing.has(hash));
    for (let start = 0; start < asked.length; start += takenAtOnce) {
      const some = asked.slice(start, start + takenAtOnce);
      const found = await shared.vectorsOf(space, some);
      if (found.length > 0) await put(space, found);
      const known = new Set(found.map(({ hash }) => hash));
      for (const hash of some) if (!known.has(hash)) missing.add(hash);
    }
    return missing;
  }

  async function textsOf(
    generation: number,
    chunks: readonly ListedChunk[],
  ): Promise<{ hash: string; context: string; text: string }[]> {
    const table = await generations.table(generation);
    if (!table || chunks.length === 0) return [];
    const texts: { id: number; hash: string; context: string; text: string }[] = [];
    for (let start = 0; start < chunks.length; start += readAtOnce) {
      const ids = chunks.slice(start, start + readAtOnce).map(({ id }) => id);
      const query = table.query().where(oneOf("id", ids)).select(["id", "hash", "context", "text"]);
      texts.push(...(await allRows<(typeof texts)[number]>(query)));
    }
    const byId = new Map(texts.map((row) => [row.id, row]));
    // In the order of the listing, and without what was replaced meanwhile.
    return chunks.flatMap(({ id }) => {
      const row = byId.get(id);
      return row === undefined ? [] : [{ hash: row.hash, context: row.context, text: row.text }];
    });
  }

  return {
    useSpace: async () => undefined,

    async pendingVectors(space, limit) {
      const id = spaces.idOf(space);
      const { meta, generation, active, next, refused } = await view.read();
      const isRefused = refused.get(id);
      const { vectors } = await spaces.listing(id);
      const without = (listing: ChunkListing | undefined): ListedChunk[] =>
        [...(listing?.byHash() ?? [])].flatMap(([hash, [chunk]]) =>
          chunk && !vectors.has(hash) && isRefused?.has(hash) !== true ? [chunk] : [],
        );
      const first = without(active);
      const later = without(next).filter(({ hash }) => !active.byHash().has(hash));
      const hashes = [...first, ...later].map(({ hash }) => hash);
      if (hashes.length === 0) return [];
      const missing = await takeOver(space, hashes);
      const wanted = (chunks: readonly ListedChunk[]): ListedChunk[] => chunks.filter(({ hash }) => missing.has(hash));
      const texts = await textsOf(generation, wanted(first).slice(0, limit));
      if (texts.length >= limit || !meta.next) return texts;
      return [...texts, ...(await textsOf(meta.next.id, wanted(later).slice(0, limit - texts.length)))];
    },

    async putVectors(space, entries) {
      for (const { vector } of entries) checkVector(vector, space);
      if (entries.length === 0) return;
      // Copies: the caller may go on with its own.
      const copies = entries.map(({ hash, vector }) => ({ hash, vector: vector.slice() }));
      await Promise.all([put(space, copies), shared.put(space, copies)]);
    },

    async knownVectors(space, hashes) {
      const { vectors } = await spaces.listing(spaces.idOf(space));
      const others = hashes.filter((hash) => !vectors.has(hash));
      if (others.length === 0) return [...hashes];
      const shares = new Set((await shared.vectorsOf(space, others)).map(({ hash }) => hash));
      return hashes.filter((hash) => vectors.has(hash) || shares.has(hash));
    },

    async spaces() {
      const { meta } = await view.read();
      const listed: { space: VectorSpace; vectors: number }[] = [];
      for (const { id, writtenAt: _writtenAt, ...space } of meta.spaces) {
        const { vectors } = await spaces.listing(id);
        if (vectors.size > 0) listed.push({ space, vectors: vectors.size });
      }
      // What has vectors here is searched without them being asked for there.
      return listed.length > 0 ? listed : await shared.spaces();
    },

    async spaceStats(space, within): Promise<SpaceStats> {
      const id = spaces.idOf(space);
      const { active, next, refused } = await view.read();
      const { vectors } = await spaces.listing(id);
      const count = (listing: ChunkListing): Required<Omit<SpaceStats, "nextPending">> => {
        const counts = { embedded: 0, pending: 0, quarantined: 0 };
        for (const [hash, chunks] of listing.byHash()) {
          const asked = within ? chunks.filter((chunk) => isAsked(chunk, within)).length : chunks.length;
          if (vectors.has(hash)) counts.embedded += asked;
          else if (refused.get(id)?.has(hash) === true) counts.quarantined += asked;
          else counts.pending += asked;
        }
        return counts;
      };
      return { ...count(active), ...(next && !within && { nextPending: count(next).pending }) };
    },

    async vectorOf(space, hash) {
      const table = await spaces.table(spaces.idOf(space));
      const query = table?.query().where(equals("hash", hash)).select(["vector"]).limit(1);
      const [row] = query ? await allRows<{ vector: unknown }>(query) : [];
      if (row) return numbersOf(row.vector);
      return (await shared.vectorsOf(space, [hash]))[0]?.vector;
    },

    async counts() {
      const { meta } = await view.read();
      const counts = { cachedVectors: 0, cachedVectorBytes: 0 };
      for (const { id, dimensions } of meta.spaces) {
        const { vectors } = await spaces.listing(id);
        counts.cachedVectors += vectors.size;
        counts.cachedVectorBytes += vectors.size * dimensions * Float32Array.BYTES_PER_ELEMENT;
      }
      return counts;
    },
  };
}

/** Throws `INVALID_ARGUMENT` for a vector that is not of this space, or that cannot be compared with any. */
export function checkVector(vector: Float32Array, { provider, model, dimensions }: VectorSpace): void {
  const space = `the space ${provider}/${model}`;
  if (vector.length !== dimensions)
    throw new MemoryError("INVALID_ARGUMENT", `a vector has ${vector.length} numbers, ${space} has ${dimensions}`);
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (squares === 0 || !Number.isFinite(squares))
    throw new MemoryError("INVALID_ARGUMENT", `a vector of ${space} is all zero or not finite`);
}
