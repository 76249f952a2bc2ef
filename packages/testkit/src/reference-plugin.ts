import { type MemoryPlugin, defineMemoryPlugin } from "@memslot/core";
import { type ChunkIndex, manageIndex } from "@memslot/indexing";
import { createInMemoryIndex } from "./reference/in-memory-index.ts";

/**
 * A memory plugin that keeps every sentence of the contract, over an index in memory: for the tests of an application,
 * or to see a check pass. Nothing is written to disk; what it knows lasts as long as the plugin object, for each state
 * folder, agent and workspace.
 */
export function createReferencePlugin(): MemoryPlugin {
  const stores = new Map<string, ChunkIndex>();
  return defineMemoryPlugin({
    id: "reference",
    async open(context) {
      const { folder } = context.storePlace;
      const store = stores.get(folder) ?? createInMemoryIndex();
      stores.set(folder, store);
      return manageIndex({ index: store, context, backend: "reference" });
    },
  });
}
