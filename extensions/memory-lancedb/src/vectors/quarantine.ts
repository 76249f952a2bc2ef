import type { ChunkIndex, QuarantinedChunk, VectorSpace } from "@memslot/indexing";
import type { ListedChunk } from "../tables/chunk-listing.ts";
import type { IndexView } from "../index-view.ts";
import { metaKeys, type MetaTable } from "../tables/meta.ts";
import type { Spaces } from "./spaces.ts";
import type { WriteQueue } from "../tables/write-queue.ts";

export interface Quarantine extends Pick<ChunkIndex, "quarantine" | "quarantined" | "releaseQuarantine"> {
  /** Takes out texts that have a vector now. Within a write. */
  release(spaceId: string, hashes: readonly string[]): Promise<void>;
  /** Forgets texts that no chunk has any more, neither in the build that answers nor in the next. */
  forgetGone(): Promise<void>;
}

/** The texts that the providers of the spaces refuse. They are few, so they stand in the table of what is known of the index. */
export function createQuarantine(input: {
  meta: MetaTable;
  writes: WriteQueue;
  view: IndexView;
  spaces: Spaces;
}): Quarantine {
  const { meta, writes, view, spaces } = input;

  return {
    async quarantine(space, entries) {
      if (entries.length === 0) return;
      await writes.run(async () => {
        const id = await spaces.add(space);
        const { vectors } = await spaces.listing(id);
        const refused = entries.filter(({ hash }) => !vectors.has(hash));
        await meta.write(refused.map(({ hash, reason }) => ({ key: metaKeys.refused(id, hash), value: reason })));
      });
    },
    async quarantined(space, limit) {
      const { active, refused } = await view.read();
      const reasons = refused.get(spaces.idOf(space));
      if (!reasons) return [];
      const chunks = [...reasons].flatMap(([hash, reason]) =>
        (active.byHash().get(hash) ?? []).map((chunk) => quarantinedOf(chunk, reason)),
      );
      return chunks.toSorted(byPlace).slice(0, limit);
    },
    async releaseQuarantine(space: VectorSpace) {
      await writes.run(async () => {
        const id = spaces.idOf(space);
        const { refused } = await meta.read();
        const hashes = [...(refused.get(id)?.keys() ?? [])];
        await meta.remove(hashes.map((hash) => metaKeys.refused(id, hash)));
      });
    },
    async release(spaceId, hashes) {
      const refused = (await meta.read()).refused.get(spaceId);
      if (!refused) return;
      const released = hashes.filter((hash) => refused.has(hash));
      await meta.remove(released.map((hash) => metaKeys.refused(spaceId, hash)));
    },
    async forgetGone() {
      if ((await meta.read()).refused.size === 0) return;
      await writes.run(async () => {
        const { active, next, refused } = await view.read();
        const gone = [...refused].flatMap(([id, reasons]) =>
          [...reasons.keys()]
            .filter((hash) => !active.byHash().has(hash) && next?.byHash().has(hash) !== true)
            .map((hash) => metaKeys.refused(id, hash)),
        );
        await meta.remove(gone);
      });
    },
  };
}

function quarantinedOf({ path, source, hash, startLine, endLine }: ListedChunk, reason: string): QuarantinedChunk {
  return { path, source, hash, startLine, endLine, reason };
}

function byPlace(left: QuarantinedChunk, right: QuarantinedChunk): number {
  if (left.path !== right.path) return left.path < right.path ? -1 : 1;
  if (left.source !== right.source) return left.source < right.source ? -1 : 1;
  return left.startLine - right.startLine;
}
