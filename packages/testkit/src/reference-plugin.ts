import { type MemoryPlugin, defineMemoryPlugin } from "@memslot/core";
import { createIndexedManager } from "@memslot/indexing";
import { type InMemoryStore, createInMemoryStore } from "./in-memory-store.ts";

/**
 * A memory plugin that passes every check, with its index in memory. Use it in the tests of an application. The index lives
 * as long as the plugin object, one for each state folder, agent and workspace.
 */
export function createReferencePlugin(): MemoryPlugin {
  const stores = new Map<string, InMemoryStore>();
  return defineMemoryPlugin({
    id: "reference",
    async open(context) {
      const { folder } = context.storePlace;
      const store = stores.get(folder) ?? createInMemoryStore();
      stores.set(folder, store);
      return await createIndexedManager({ store, context, backend: "reference" });
    },
  });
}
