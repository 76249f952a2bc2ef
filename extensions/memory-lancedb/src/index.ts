import { defineMemoryPlugin, type MemoryPlugin } from "@memslot/core";
import configSchema from "./data/config-schema.json" with { type: "json" };
import type { LanceStoreSettings, OpenedStore } from "./open-store.ts";

export type { LanceStoreSettings, OpenedStore } from "./open-store.ts";
export type { LanceOptions } from "./place/address.ts";

/**
 * Opens an index in LanceDB as a `ChunkStore`. Throws `CONFIG` and `UNAVAILABLE`. An index of another agent or a later
 * release is not touched: the store is in memory then (see `stats().notices`).
 */
export async function openLanceStore(settings: LanceStoreSettings): Promise<OpenedStore> {
  const { signal } = settings;
  signal.throwIfAborted();
  const { openPlace } = await import("./place/open-connection.ts");
  const place = await openPlace(settings);
  try {
    // It imports LanceDB, which `openPlace` has checked to load.
    const { openStore } = await import("./open-store.ts");
    signal.throwIfAborted();
    return await openStore(place, settings);
  } catch (error) {
    await place.close();
    throw error;
  }
}

const plugin: MemoryPlugin = defineMemoryPlugin({
  id: "memory-lancedb",
  configSchema,
  async open(context) {
    const { agentId, workspaceDir, stateDir, storePlace, rebuild, signal } = context;
    // Loaded before the store is open: only the manager has to close the store.
    const { createIndexedManager } = await import("@memslot/indexing");
    const { store, leases } = await openLanceStore({
      lance: context.options,
      agentId,
      ...storePlace,
      stateDir,
      workspaceDir,
      rebuild,
      mayCreate: context.readOnly !== true,
      signal,
    });
    return await createIndexedManager({ store, leases, context, backend: "memory-lancedb" });
  },
});

export default plugin;
