import { messageOf } from "@memslot/core";
import type { ChunkIndex, VectorSpace } from "@memslot/indexing";
import { openVectorCache, type VectorCache } from "@memslot/indexing/ledger";
import type { IndexOwner } from "../tables/meta.ts";

export interface SharedCacheOptions {
  /** The file of memory-core that belongs to the same agent. */
  path: string;
  /** Vectors to keep beside those of the chunks that are there. */
  maxEntries: number;
  mayCreate: boolean;
  owner?: IndexOwner | undefined;
}

/**
 * The vectors that memory-core has of the same notes. Whatever is embedded here is written there too, and what is there
 * is not embedded again: to change the slot costs no request. It is opened when it is needed first; where it cannot be,
 * that is told once and nothing depends on it.
 */
export interface SharedCache {
  spaces(): ReturnType<ChunkIndex["spaces"]>;
  vectorsOf(space: VectorSpace, hashes: readonly string[]): Promise<{ hash: string; vector: Float32Array }[]>;
  put(space: VectorSpace, entries: readonly { hash: string; vector: Float32Array }[]): Promise<void>;
  close(): Promise<void>;
}

export const noSharedCache: SharedCache = {
  spaces: async () => [],
  vectorsOf: async () => [],
  put: async () => undefined,
  close: async () => undefined,
};

/** `countChunks`: how many there are now, all of which keep their vectors. */
export function createSharedCache(
  { path, maxEntries, mayCreate, owner }: SharedCacheOptions,
  countChunks: () => Promise<number>,
  notice: (line: string) => void,
): SharedCache {
  let opening: Promise<VectorCache | undefined> | undefined;
  let isUsable = true;

  async function open(): Promise<VectorCache | undefined> {
    const chunks = await countChunks();
    const cache = await openVectorCache({ path, mayCreate, owner, cacheMaxEntries: maxEntries + chunks });
    for (const line of cache.notices()) notice(line);
    return cache;
  }

  function fail(error: unknown): undefined {
    isUsable = false;
    notice(`vectors are not shared with memory-core: ${messageOf(error)}`);
    return undefined;
  }

  /** Nothing here may fail what it is only a help to. */
  async function use<Result>(otherwise: Result, work: (cache: VectorCache) => Promise<Result>): Promise<Result> {
    if (!isUsable) return otherwise;
    const cache = await (opening ??= open().catch(fail));
    if (!cache || !isUsable) return otherwise;
    try {
      return await work(cache);
    } catch (error) {
      fail(error);
      return otherwise;
    }
  }

  return {
    spaces: () => use<Awaited<ReturnType<SharedCache["spaces"]>>>([], (cache) => cache.spaces()),
    vectorsOf: (space, hashes) =>
      use<{ hash: string; vector: Float32Array }[]>([], (cache) => cache.vectorsOf(space, hashes)),
    put: (space, entries) => use<void>(undefined, (cache) => cache.putVectors(space, entries)),
    async close() {
      isUsable = false;
      await (await opening)?.close();
    },
  };
}
