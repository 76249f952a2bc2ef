import { join } from "node:path";
import { type ChunkIndex, createStoredIndex } from "@memslot/indexing";
import { openLedger } from "@memslot/indexing/ledger";
import { type InMemoryStore, createInMemoryStore } from "@memslot/testkit";

/** Opens an index whose store lives as long as the tests, so that it can be opened again and twice. */
export function opensIndexes(): (stateDir: string) => Promise<ChunkIndex> {
  const stores = new Map<string, InMemoryStore>();
  return async (stateDir) => {
    const store = stores.get(stateDir) ?? createInMemoryStore();
    stores.set(stateDir, store);
    const ledger = await openLedger({
      store: "memory-test",
      path: join(stateDir, "ledger.sqlite"),
      locksDir: join(stateDir, "locks"),
      cacheMaxEntries: 1000,
    });
    return await createStoredIndex({ ledger, store });
  };
}
