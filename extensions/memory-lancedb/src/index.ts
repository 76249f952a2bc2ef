import { defineMemoryPlugin, type MemoryPlugin } from "@memslot/core";
import type { LanceStoreSettings, OpenedStore } from "./open-store.ts";
import { configSchema } from "./options.ts";

export type { LanceStoreSettings, OpenedStore } from "./open-store.ts";
export type { LanceOptions } from "./options.ts";

/**
 * Opens an index in LanceDB as a store, for a plugin of one's own, with the leases of the place where several hosts share
 * it. Loads LanceDB with the first call. Throws `CONFIG` for an option that cannot be used, and `UNAVAILABLE` where
 * LanceDB does not load or the place cannot be used. An index of another agent, or of a later release, is left alone and
 * the index is kept in memory: `stats().notices` says so.
 */
export async function openLanceStore(settings: LanceStoreSettings): Promise<OpenedStore> {
  const { agentId, workspaceDir, signal } = settings;
  signal.throwIfAborted();
  const { openPlace } = await import("./place/place.ts");
  const place = await openPlace(settings);
  try {
    // Only now: it loads LanceDB, which is known to load.
    const { openStore } = await import("./open-store.ts");
    signal.throwIfAborted();
    const owner = workspaceDir === undefined ? undefined : { agentId, workspaceDir };
    return await openStore(place, owner, settings);
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
    // Before the store is open, so that nothing but the manager has to close it.
    const { createIndexedManager } = await import("@memslot/indexing");
    const { store, leases } = await openLanceStore({
      lance: context.options,
      agentId,
      ...storePlace,
      stateDir,
      workspaceDir,
      rebuild,
      mayCreate: context.lookOnly !== true,
      signal,
    });
    return await createIndexedManager({ store, leases, context, backend: "memory-lancedb" });
  },
});

export default plugin;
