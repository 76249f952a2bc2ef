import { type InMemoryStore, createInMemoryStore } from "@memslot/testkit";

/** Opens stores that are lasting and shared: those of one folder hold the same. */
export function rememberingStores(): (stateDir: string) => Promise<InMemoryStore> {
  const stores = new Map<string, InMemoryStore>();
  return async (stateDir) => {
    const store = stores.get(stateDir) ?? createInMemoryStore();
    stores.set(stateDir, store);
    return { ...store };
  };
}
