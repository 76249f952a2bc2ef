import { defineMemoryPlugin, type MemoryPlugin } from "@memslot/core";
import type { ChunkIndex } from "@memslot/indexing";
import type { LanceStoreSettings } from "./open-store.ts";
import { configSchema, readOptions } from "./options.ts";

export type { LanceStoreSettings } from "./open-store.ts";
export type { LanceOptions } from "./options.ts";

/** Opens an index in LanceDB as a store, for a plugin of one's own. LanceDB is loaded with the first call. */
export async function openLanceStore(settings: LanceStoreSettings): Promise<ChunkIndex> {
  const { openStore } = await import("./open-store.ts");
  return await openStore(settings);
}

const plugin: MemoryPlugin = defineMemoryPlugin({
  id: "memory-lancedb",
  configSchema,
  async open(context) {
    const { agentId, workspaceDir, stateDir, storePlace, settings, signal } = context;
    const [{ openStore }, { manageIndex }] = await Promise.all([
      import("./open-store.ts"),
      import("@memslot/indexing"),
    ]);
    const { store: storage, cache } = settings;
    const store = await openStore({
      lance: readOptions(context.options),
      agentId,
      name: storePlace.name,
      folder: storePlace.folder,
      stateDir,
      workspaceDir,
      mayCreate: context.lookOnly !== true,
      shared: cache.enabled ? { path: storage.path, maxEntries: cache.maxEntries } : undefined,
      signal,
    });
    try {
      return await manageIndex({ index: store, context, backend: "memory-lancedb" });
    } catch (error) {
      await store.close();
      throw error;
    }
  },
});

export default plugin;
