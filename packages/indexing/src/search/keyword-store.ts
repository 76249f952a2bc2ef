import type { ChunkIndex } from "../chunk-index.ts";

/** A store that keeps no vectors: what is left of the contract for it. */
export type KeywordStore = Omit<
  ChunkIndex,
  | "keepsVectors"
  | "useSpace"
  | "searchVector"
  | "pendingVectors"
  | "putVectors"
  | "knownVectors"
  | "quarantine"
  | "quarantined"
  | "releaseQuarantine"
  | "spaces"
  | "spaceStats"
  | "probeVector"
>;

/** Makes a whole store of one that finds by words alone. It is never given a vector. */
export function withoutVectors(store: KeywordStore): ChunkIndex {
  return {
    ...store,
    keepsVectors: false,
    useSpace: async () => undefined,
    searchVector: async () => ({ rows: [] }),
    pendingVectors: async () => [],
    putVectors: async () => undefined,
    knownVectors: async () => [],
    quarantine: async () => undefined,
    quarantined: async () => [],
    releaseQuarantine: async () => undefined,
    spaces: async () => [],
    spaceStats: async () => ({ embedded: 0, pending: 0, quarantined: 0 }),
    probeVector: async () => false,
  };
}
