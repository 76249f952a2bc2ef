import { dirname, join } from "node:path";
import { defineMemoryPlugin, type MemoryPlugin } from "@memslot/core";
import { openSqliteStore } from "./sqlite-store.ts";

export { openSqliteStore, type SqliteStoreOptions } from "./sqlite-store.ts";

const plugin: MemoryPlugin = defineMemoryPlugin({
  id: "memory-core",
  configSchema: { type: "object", properties: {}, additionalProperties: false },
  async open(context) {
    const { store: storage, cache } = context.settings;
    const opening = openSqliteStore({
      path: storage.path,
      mayCreate: context.lookOnly !== true,
      isOwnPlace: dirname(storage.path) === join(context.stateDir, "memory"),
      owner: { agentId: context.agentId, workspaceDir: context.workspaceDir },
      locksDir: join(context.stateDir, "locks"),
      vector: storage.vector,
      cacheMaxEntries: cache.enabled ? cache.maxEntries : 0,
      oneShot: context.oneShot,
      signal: context.signal,
    });
    // Loads while the store opens in its own thread, which is started first: loading holds this one up. A failure to
    // load is met where it is awaited.
    const indexing = import("@memslot/indexing");
    indexing.catch(() => undefined);
    const store = await opening;
    try {
      const { manageIndex } = await indexing;
      return await manageIndex({ index: store, context, backend: "memory-core" });
    } catch (error) {
      await store.close();
      throw error;
    }
  },
});

export default plugin;
