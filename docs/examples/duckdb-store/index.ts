// Named by its folder in "plugins.load.paths", and chosen with "plugins.slots.memory": "memory-duckdb".
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { MemoryError, type MemoryPlugin, defineMemoryPlugin, messageOf } from "@memslot/core";
import { type ChunkStore, createIndexedManager } from "@memslot/indexing";
import { openDuckStore } from "./store.ts";

/** A library that is missing and a file that another process has open are what a spare is for. */
async function open(file: string): Promise<ChunkStore> {
  try {
    return await openDuckStore(file);
  } catch (error) {
    const message = `${file} cannot be opened: ${messageOf(error)}; install @duckdb/node-api, or end what has it open`;
    throw new MemoryError("UNAVAILABLE", message, { cause: error });
  }
}

const plugin: MemoryPlugin = defineMemoryPlugin({
  id: "memory-duckdb",
  async open(context) {
    const { folder } = context.storePlace;
    const file = join(folder, "index.duckdb");
    // Who only looks makes nothing on disk.
    const isMissing = context.readOnly === true && !existsSync(file);
    if (!isMissing) mkdirSync(folder, { recursive: true });
    const store = await open(isMissing ? ":memory:" : file);
    return await createIndexedManager({ store, context, backend: "memory-duckdb" });
  },
});

export default plugin;
