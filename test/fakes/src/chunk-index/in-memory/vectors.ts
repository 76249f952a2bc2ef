import {
  type ChunkIndex,
  type ChunkStore,
  type FileKey,
  type VectorSpace,
  isAsked,
  spaceName,
} from "@memslot/indexing";
import type { InMemoryBuild, KeptChunk } from "./build.ts";

interface KeptSpace {
  space: VectorSpace;
  vectors: Map<string, Float32Array>;
  /** Why the provider refuses a text, by its hash. */
  refused: Map<string, string>;
}

type VectorCalls = Pick<
  ChunkIndex,
  | "pendingVectors"
  | "putVectors"
  | "knownVectors"
  | "quarantine"
  | "quarantined"
  | "releaseQuarantine"
  | "spaces"
  | "spaceStats"
>;

export interface InMemoryVectors {
  calls: VectorCalls;
  vectorOf(space: VectorSpace, hash: string): Float32Array | undefined;
  /** How many there are over all spaces, and the bytes of their numbers. */
  counts(): { cachedVectors: number; cachedVectorBytes: number };
  /** To be called when chunks have come: the store is given the vectors that there are for them. */
  give(hashes: readonly string[]): Promise<void>;
  /** To be called when chunks have gone: a refused text is remembered as long as one chunk has it. */
  forgetRefused(): void;
}

/** Vectors by space and hash, shared by the build that answers and the next one. The store has those of its chunks. */
export function createInMemoryVectors(
  store: Pick<ChunkStore, "putVectors">,
  answering: () => InMemoryBuild,
  next: () => InMemoryBuild | undefined,
): InMemoryVectors {
  /** The one that was written to last comes last. */
  const spaces = new Map<string, KeptSpace>();
  const chunksOfBoth = (): KeptChunk[] => [...answering().chunks(), ...(next()?.chunks() ?? [])];

  function spaceOf(space: VectorSpace): KeptSpace {
    const kept = spaces.get(spaceName(space)) ?? { space: { ...space }, vectors: new Map(), refused: new Map() };
    spaces.set(spaceName(space), kept);
    return kept;
  }
  const isPending =
    ({ vectors, refused }: KeptSpace) =>
    ({ hash }: KeptChunk): boolean =>
      !vectors.has(hash) && !refused.has(hash);

  const calls: VectorCalls = {
    async pendingVectors(space, limit) {
      const pending = chunksOfBoth().filter(isPending(spaceOf(space)));
      const byHash = new Map(pending.map(({ hash, context, text }) => [hash, { hash, context, text }]));
      return [...byHash.values()].slice(0, limit);
    },
    async putVectors(space, entries) {
      await store.putVectors(space, entries);
      const kept = spaceOf(space);
      for (const { hash, vector } of entries) {
        kept.vectors.set(hash, Float32Array.from(vector));
        kept.refused.delete(hash);
      }
      if (entries.length === 0) return;
      spaces.delete(spaceName(space));
      spaces.set(spaceName(space), kept);
    },
    knownVectors: async (space, hashes) => hashes.filter((hash) => spaceOf(space).vectors.has(hash)),
    async quarantine(space, entries) {
      const { vectors, refused } = spaceOf(space);
      for (const { hash, reason } of entries) if (!vectors.has(hash)) refused.set(hash, reason);
    },
    async quarantined(space, limit) {
      const { refused } = spaceOf(space);
      const chunks = answering().chunks();
      const places = chunks.flatMap(({ path, source, hash, startLine, endLine }) => {
        const reason = refused.get(hash);
        return reason === undefined ? [] : [{ path, source, hash, startLine, endLine, reason }];
      });
      return places.toSorted(byPlace).slice(0, limit);
    },
    releaseQuarantine: async (space) => spaceOf(space).refused.clear(),
    spaces: async () =>
      [...spaces.values()]
        .filter(({ vectors }) => vectors.size > 0)
        .map(({ space, vectors }) => ({ space: { ...space }, vectors: vectors.size }))
        .toReversed(),
    async spaceStats(space, within) {
      const kept = spaceOf(space);
      const chunks = answering().chunks();
      const all = within ? chunks.filter((chunk) => isAsked(chunk, within)) : chunks;
      const nextChunks = within ? undefined : next()?.chunks();
      return {
        embedded: all.filter(({ hash }) => kept.vectors.has(hash)).length,
        pending: all.filter(isPending(kept)).length,
        quarantined: all.filter(({ hash }) => kept.refused.has(hash)).length,
        ...(nextChunks === undefined ? {} : { nextPending: nextChunks.filter(isPending(kept)).length }),
      };
    },
  };

  return {
    calls,
    vectorOf: (space, hash) => spaceOf(space).vectors.get(hash)?.slice(),
    counts() {
      const vectors = [...spaces.values()].flatMap((kept) => [...kept.vectors.values()]);
      const cachedVectorBytes = vectors.reduce((sum, vector) => sum + vector.byteLength, 0);
      return { cachedVectors: vectors.length, cachedVectorBytes };
    },
    async give(hashes) {
      for (const { space, vectors } of spaces.values()) {
        const entries = hashes.flatMap((hash) => {
          const vector = vectors.get(hash);
          return vector === undefined ? [] : [{ hash, vector }];
        });
        await store.putVectors(space, entries);
      }
    },
    forgetRefused() {
      const wanted = [...spaces.values()].filter(({ refused }) => refused.size > 0);
      if (wanted.length === 0) return;
      const hashes = new Set(chunksOfBoth().map(({ hash }) => hash));
      for (const { refused } of wanted) for (const hash of refused.keys()) if (!hashes.has(hash)) refused.delete(hash);
    },
  };
}

function byPlace(left: FileKey & { startLine: number }, right: FileKey & { startLine: number }): number {
  if (left.path !== right.path) return left.path < right.path ? -1 : 1;
  if (left.source !== right.source) return left.source < right.source ? -1 : 1;
  return left.startLine - right.startLine;
}
