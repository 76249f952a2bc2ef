import type { WriterStatus } from "@memslot/core";
import type { ChunkIndex, LeaseName, IndexBuilds, IndexLeases, IndexUpkeep } from "@memslot/indexing";
import { type InMemoryStore, createInMemoryStore } from "@memslot/testkit";

/** A store that has every part that a store may leave out. */
export interface FullStore extends ChunkIndex {
  revision(): Promise<string>;
  builds: IndexBuilds;
  leases: IndexLeases;
  upkeep: IndexUpkeep;
}

export type LeaseTable = Map<LeaseName, { owner: object; writer: WriterStatus }>;

/** The leases of one store among those that share the table. */
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

/** Opens stores that are lasting and shared: those of one folder hold the same, and exclude each other by leases. */
export function rememberingStores(): (stateDir: string) => Promise<FullStore> {
  const places = new Map<string, { store: InMemoryStore; leases: LeaseTable }>();
  return async (stateDir) => {
    const place = places.get(stateDir) ?? { store: createInMemoryStore(), leases: new Map() };
    places.set(stateDir, place);
    const leases = createLeases(place.leases, {});
    return {
      ...place.store,
      leases,
      async close() {
        for (const name of ["files", "build"] as const) await leases.release(name);
      },
    };
  };
}
