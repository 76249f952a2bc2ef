import type { ChunkStore, FileKey, KeywordQuery } from "../chunk-store.ts";

/** A store that keeps no vectors: what is left of the contract for it. */
export type KeywordStore = Pick<
  ChunkStore,
  keyof Omit<
    ChunkStore,
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
  >
>;

/** Makes a whole store of one that finds by words alone. It is never given a vector. */
export function withoutVectors(store: KeywordStore): ChunkStore {
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

/** True for a file of the sources and of the scope that a search names. */
export function isAsked(
  { path, source }: FileKey,
  { sources, scope }: Pick<KeywordQuery, "sources" | "scope">,
): boolean {
  const isAt = (place: string): boolean =>
    place === "" || place === path || (place.endsWith("/") && path.startsWith(place));
  if (!sources.includes(source)) return false;
  return scope === undefined || (scope.within.some(isAt) && !scope.without.some(isAt));
}
