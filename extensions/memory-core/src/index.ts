import { defineMemoryPlugin, type MemoryPlugin } from "@memslot/core";
import { openSqliteStore } from "./sqlite-store.ts";

export { openSqliteStore, type SqliteStoreOptions } from "./sqlite-store.ts";

const plugin: MemoryPlugin = defineMemoryPlugin({
  id: "memory-core",
  configSchema: { type: "object", properties: {}, additionalProperties: false },
  async open(context) {
    const { createIndexedManager } = await import("@memslot/indexing");
    const { store: storage, cache } = context.settings;
    const store = await openSqliteStore({
      path: storage.path,
      vector: storage.vector,
      cacheMaxEntries: cache.enabled ? cache.maxEntries : 0,
      signal: context.signal,
    });
    try {
      return await createIndexedManager({ store, context, backend: "memory-core" });
    } catch (error) {
      await store.close();
      throw error;
    }
  },
});

export default plugin;
