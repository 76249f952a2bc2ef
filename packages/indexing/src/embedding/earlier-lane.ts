import type { EmbeddingChoice } from "@memslot/core";
import { spaceName, type VectorSpace } from "../chunk-store.ts";
import { Lane, type LaneContext } from "./lane.ts";

/** Less than this share of the chunks, and an earlier space is no better than words. */
export const enoughVectors = 0.8;

/** The model that made earlier vectors, asked while those of the present model are being made. */
export interface EarlierLane {
  /** The lane with most of its vectors there; undefined where there is none or its model cannot be reached. */
  find(): Promise<Lane | undefined>;
  /**
   * Tells the store that the earlier space is still in use, before the first vectors of another are put in: a store that
   * keeps no cache would take them for left over.
   */
  protect(): Promise<void>;
  /** The lane if it was opened. */
  opened(): Promise<Lane | undefined>;
}

/**
 * Looks for an earlier model of the same provider only: whoever changes the provider may not want the old one to see
 * another question.
 */
export function earlierLane(primary: Lane, openModel: EmbeddingChoice["openModel"], context: LaneContext): EarlierLane {
  const { store, closing } = context;
  let isProtected = false;
  let looked: Promise<Lane | undefined> | undefined;

  /** Earlier spaces with most of their vectors there, the one that was written to last first. */
  async function* candidates(): AsyncGenerator<VectorSpace> {
    const present = await primary.knownSpace();
    const own = present && spaceName({ ...present, dimensions: 0 });
    for (const { space } of await store.spaces()) {
      // The same model with vectors of another length is gone: who answers to its name now makes those of the present.
      if (space.provider !== primary.provider.id || spaceName({ ...space, dimensions: 0 }) === own) continue;
      const { embedded, pending } = await store.spaceStats(space);
      if (embedded > 0 && embedded >= enoughVectors * (embedded + pending)) yield space;
    }
  }

  async function look(): Promise<Lane | undefined> {
    if (!openModel) return undefined;
    for await (const space of candidates()) {
      const provider = await openModel(space.model, closing).catch(() => undefined);
      // With other settings the same model makes vectors that mean something else.
      const fits =
        provider?.model === space.model &&
        (provider.cacheKey ?? "") === space.providerKey &&
        (provider.dimensions ?? space.dimensions) === space.dimensions;
      if (fits) return new Lane(provider, context, space);
    }
    return undefined;
  }

  return {
    find: () => (looked ??= look()),
    async protect() {
      if (!openModel || isProtected) return;
      for await (const space of candidates()) {
        await store.useSpace(space);
        break;
      }
      isProtected = true;
    },
    opened: async () => await looked?.catch(() => undefined),
  };
}
