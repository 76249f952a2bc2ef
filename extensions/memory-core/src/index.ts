import { defineMemoryPlugin, type MemoryPlugin } from "@memslot/core";
import { ledgerOptions } from "@memslot/indexing/ledger";
import { backend, openSqliteStore } from "./sqlite-store.ts";

export { openSqliteStore, type SqliteStoreOptions } from "./sqlite-store.ts";

const plugin: MemoryPlugin = defineMemoryPlugin({
  id: "memory-core",
  configSchema: { type: "object", properties: {}, additionalProperties: false },
  async open(context) {
    const { vector } = context.settings.store;
    const opening = openSqliteStore({ ...ledgerOptions(context, backend), vector });
    // Loads while the store opens in its own thread. A load error surfaces where it is awaited.
    const indexing = import("@memslot/indexing/engine");
    indexing.catch(() => undefined);
    const store = await opening;
    try {
      const { manageIndex } = await indexing;
      return await manageIndex({ index: store, context, backend });
    } catch (error) {
      await store.close();
      throw error;
    }
  },
});

export default plugin;
