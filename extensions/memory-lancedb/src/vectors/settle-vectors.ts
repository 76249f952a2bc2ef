import type { ChunkListing } from "../tables/chunk-listing.ts";
import { oneOf } from "../tables/filter.ts";
import type { IndexView } from "../index-view.ts";
import type { Spaces } from "./spaces.ts";
import { createStaleRows } from "./vector-listing.ts";

/** Rows that say something else than the chunks do, before they are written anew: until then searches name them. */
const staleBefore = 200;
/** A small index keeps so many vectors of texts that no chunk has; a larger one as many as it has chunks. */
const fewestKept = 64;
const changedAtOnce = 2000;

/** Brings the rows of the vectors in step with the chunks. Within a write. */
export interface VectorSettling {
  /** Only where it is worth it. */
  settle(): Promise<void>;
  /** Deletes every vector of a text that no chunk has. */
  dropUnused(): Promise<void>;
}

export function createVectorSettling(input: { spaces: Spaces; view: IndexView }): VectorSettling {
  const { spaces, view } = input;

  async function remove(id: string, hashes: readonly string[]): Promise<void> {
    const table = await spaces.table(id);
    if (!table) return;
    for (let start = 0; start < hashes.length; start += changedAtOnce)
      await table.delete(oneOf("hash", hashes.slice(start, start + changedAtOnce)));
  }

  /** Texts that a chunk of neither build has, the oldest first, as they were put in. */
  async function unused(id: string, active: ChunkListing, next: ChunkListing | undefined): Promise<string[]> {
    const { vectors } = await spaces.listing(id);
    return [...vectors.keys()].filter((hash) => !active.byHash().has(hash) && next?.byHash().has(hash) !== true);
  }

  async function writeAnew(id: string, active: ChunkListing): Promise<void> {
    const stale = createStaleRows()(active, await spaces.listing(id));
    const table = await spaces.table(id);
    if (!table || stale.size < staleBefore) return;
    for (const [sources, rows] of Map.groupBy(stale, ([, wanted]) => wanted)) {
      for (let start = 0; start < rows.length; start += changedAtOnce) {
        const hashes = rows.slice(start, start + changedAtOnce).map(([hash]) => hash);
        await table.update({ where: oneOf("hash", hashes), values: { sources } });
      }
    }
  }

  return {
    async settle() {
      const { meta, active, next } = await view.read();
      for (const { id } of meta.spaces) {
        const rest = await unused(id, active, next);
        const surplus = rest.length - Math.max(fewestKept, active.chunkCount);
        if (surplus > 0) await remove(id, rest.slice(0, surplus));
        await writeAnew(id, active);
      }
    },
    async dropUnused() {
      const { meta, active, next } = await view.read();
      for (const { id } of meta.spaces) await remove(id, await unused(id, active, next));
    },
  };
}
