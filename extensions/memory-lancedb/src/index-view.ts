import type { ChunkListing } from "./tables/chunk-listing.ts";
import type { Generations } from "./generations.ts";
import type { Meta, MetaTable } from "./tables/meta.ts";

/** What is in the index now: the build that answers, and the one that is being made. */
export interface IndexView {
  read(): Promise<{
    meta: Meta;
    generation: number;
    active: ChunkListing;
    next: ChunkListing | undefined;
    refused: Meta["refused"];
  }>;
}

export function createIndexView(metaTable: MetaTable, generations: Generations): IndexView {
  return {
    async read() {
      for (;;) {
        const meta = await metaTable.read();
        const [active, next] = await Promise.all([
          generations.listing(meta.active.id),
          meta.next && generations.listing(meta.next.id),
        ]);
        // Another build may have taken over while the listing of the old one was read.
        const { active: still, next: stillNext } = await metaTable.read();
        if (still.id === meta.active.id && stillNext?.id === meta.next?.id)
          return { meta, generation: meta.active.id, active, next, refused: meta.refused };
      }
    },
  };
}
