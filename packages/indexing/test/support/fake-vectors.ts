import type { ChunkIndex, VectorSpace } from "@memslot/indexing";
import { type FakeBuild, type KeptChunk, isAsked, rowOf } from "./fake-build.ts";

interface KeptSpace {
  space: VectorSpace;
  vectors: Map<string, Float32Array>;
  /** Why the provider refuses a text, by its hash. */
  refused: Map<string, string>;
}

type VectorCalls = Pick<
  ChunkIndex,
  | "searchVector"
  | "pendingVectors"
  | "putVectors"
  | "knownVectors"
  | "quarantine"
  | "quarantined"
  | "releaseQuarantine"
  | "spaces"
  | "spaceStats"
>;

export interface FakeVectors extends VectorCalls {
  /** What is kept of a space, to be changed by the test. */
  kept(space: VectorSpace): KeptSpace;
  all(): Float32Array[];
  /** To be called after chunks went away: a refused text is forgotten with the last chunk that has it. */
  forgetRefused(): void;
}

/** Vectors by space and hash, for the chunks of the build that answers and of the `next` one. */
export function createFakeVectors(
  answering: () => FakeBuild,
  next: () => FakeBuild | undefined,
  enter: (method: keyof VectorCalls, argument?: unknown) => Promise<void>,
): FakeVectors {
  /** By the name of the space; the one that was written to last comes last. */
  const spaces = new Map<string, KeptSpace>();
  const chunksOfBoth = (): KeptChunk[] => [...answering().chunks(), ...(next()?.chunks() ?? [])];

  function keptOf(wanted: VectorSpace): KeptSpace {
    const name = spaceName(wanted);
    const kept = spaces.get(name) ?? { space: { ...wanted }, vectors: new Map(), refused: new Map() };
    spaces.set(name, kept);
    return kept;
  }

  return {
    kept: keptOf,
    all: () => [...spaces.values()].flatMap(({ vectors }) => [...vectors.values()]),
    forgetRefused() {
      for (const { refused } of spaces.values()) {
        if (refused.size === 0) continue;
        const hashes = new Set(chunksOfBoth().map(({ hash }) => hash));
        for (const hash of refused.keys()) if (!hashes.has(hash)) refused.delete(hash);
      }
    },
    async searchVector(query) {
      await enter("searchVector", query);
      const { vectors } = keptOf(query.space);
      const rows = answering()
        .chunks()
        .flatMap((chunk) => {
          const vector = vectors.get(chunk.hash);
          return vector && isAsked(chunk, query)
            ? [{ ...rowOf(chunk), score: vector.reduce((sum, value, at) => sum + value * (query.vector[at] ?? 0), 0) }]
            : [];
        });
      return { rows: rows.toSorted((a, b) => b.score - a.score).slice(0, query.limit) };
    },
    async pendingVectors(wanted, limit) {
      await enter("pendingVectors", { space: wanted, of: limit });
      const { vectors, refused } = keptOf(wanted);
      const pending = new Map<string, { hash: string; context: string; text: string }>();
      for (const { hash, context, text } of chunksOfBoth()) {
        if (!vectors.has(hash) && !refused.has(hash)) pending.set(hash, { hash, context, text });
      }
      return [...pending.values()].slice(0, limit);
    },
    async putVectors(wanted, entries) {
      await enter("putVectors", { space: wanted, of: entries });
      const kept = keptOf(wanted);
      for (const { hash, vector } of entries) {
        if (vector.length !== wanted.dimensions) throw new RangeError("a vector of another length than the space's");
        kept.vectors.set(hash, vector);
        kept.refused.delete(hash);
      }
      if (entries.length === 0) return;
      spaces.delete(spaceName(wanted));
      spaces.set(spaceName(wanted), kept);
    },
    async knownVectors(wanted, hashes) {
      await enter("knownVectors", { space: wanted, of: hashes });
      return hashes.filter((hash) => keptOf(wanted).vectors.has(hash));
    },
    async quarantine(wanted, entries) {
      await enter("quarantine", { space: wanted, of: entries });
      const { vectors, refused } = keptOf(wanted);
      for (const { hash, reason } of entries) if (!vectors.has(hash)) refused.set(hash, reason);
    },
    async quarantined(wanted, limit) {
      await enter("quarantined", { space: wanted, of: limit });
      const { refused } = keptOf(wanted);
      return answering()
        .chunks()
        .flatMap(({ path, source, hash, startLine, endLine }) => {
          const reason = refused.get(hash);
          return reason === undefined ? [] : [{ path, source, hash, startLine, endLine, reason }];
        })
        .toSorted((a, b) => (a.path === b.path ? a.startLine - b.startLine : a.path < b.path ? -1 : 1))
        .slice(0, limit);
    },
    async releaseQuarantine(wanted) {
      await enter("releaseQuarantine", wanted);
      keptOf(wanted).refused.clear();
    },
    async spaces() {
      await enter("spaces");
      const filled = [...spaces.values()].filter(({ vectors }) => vectors.size > 0);
      return filled.map((kept) => ({ space: { ...kept.space }, vectors: kept.vectors.size })).toReversed();
    },
    async spaceStats(wanted) {
      await enter("spaceStats", wanted);
      const { vectors, refused } = keptOf(wanted);
      const chunks = answering().chunks();
      const embedded = chunks.filter(({ hash }) => vectors.has(hash)).length;
      const quarantined = chunks.filter(({ hash }) => refused.has(hash)).length;
      const nextPending = next()
        ?.chunks()
        .filter(({ hash }) => !vectors.has(hash) && !refused.has(hash)).length;
      return {
        embedded,
        pending: chunks.length - embedded - quarantined,
        quarantined,
        ...(nextPending === undefined ? {} : { nextPending }),
      };
    },
  };
}

function spaceName({ provider, model, providerKey, dimensions }: VectorSpace): string {
  return JSON.stringify([provider, model, providerKey, dimensions]);
}
