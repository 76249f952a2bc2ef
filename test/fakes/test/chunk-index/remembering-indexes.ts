import type { WriterStatus } from "@memslot/core";
import type { ChunkIndex, LeaseName, IndexBuilds, IndexLeases, IndexUpkeep } from "@memslot/indexing";
import { type InMemoryIndex, createInMemoryIndex } from "@memslot/fakes/chunk-index";

/** An index that has every part that one may leave out. */
export interface FullIndex extends ChunkIndex {
  revision(): Promise<string>;
  builds: IndexBuilds;
  leases: IndexLeases;
  upkeep: IndexUpkeep;
}

export type LeaseTable = Map<LeaseName, { owner: object; writer: WriterStatus }>;

/** The leases of one index among those that share the table. */
export function createLeases(table: LeaseTable, owner: object): IndexLeases {
  return {
    async acquire(name, reason) {
      const held = table.get(name);
      if (held !== undefined) return held.owner === owner;
      table.set(name, { owner, writer: { pid: process.pid, reason, since: new Date().toISOString() } });
      return true;
    },
    async release(name) {
      if (table.get(name)?.owner === owner) table.delete(name);
    },
    async report(progress) {
      const held = table.get("build");
      if (held?.owner === owner) held.writer = { ...held.writer, ...progress };
    },
    async holder(name) {
      const held = table.get(name);
      return held && { ...held.writer };
    },
  };
}

/** Opens indexes that are lasting and shared: those of one folder hold the same, and exclude each other by leases. */
export function rememberingIndexes(): (stateDir: string) => Promise<FullIndex> {
  const places = new Map<string, { index: InMemoryIndex; leases: LeaseTable }>();
  return async (stateDir) => {
    const place = places.get(stateDir) ?? { index: createInMemoryIndex(), leases: new Map() };
    places.set(stateDir, place);
    const leases = createLeases(place.leases, {});
    return {
      ...place.index,
      leases,
      async close() {
        for (const name of ["files", "build"] as const) await leases.release(name);
      },
    };
  };
}
