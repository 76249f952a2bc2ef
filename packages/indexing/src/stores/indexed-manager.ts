import { dirname, join } from "node:path";
import type { MemoryPluginContext, MemorySearchManager } from "@memslot/core";
import type { HostLeases } from "../chunk-index.ts";
import type { ChunkStore } from "../chunk-store.ts";
import type { IndexedSource } from "../indexed-source.ts";
import { openLedger } from "../ledger/open-ledger.ts";
import { manageIndex } from "../manager.ts";
import type { SearchInput, SearchOutcome } from "../search/search-outcome.ts";
import { createStoredIndex } from "./stored-index.ts";

/**
 * A manager whose chunks are kept in a store: everything between the files and the store, and the ledger of what is known
 * of them. The manager owns the store and closes it, also where it cannot be opened. Throws `UNAVAILABLE` where SQLite
 * does not load, what the store throws, and `AbortError` when opening is called off.
 */
export async function createIndexedManager(input: {
  store: ChunkStore;
  context: MemoryPluginContext;
  backend: string;
  /** The right to work on a store that other hosts write to, given to one at a time. Absent: only this machine writes. */
  leases?: HostLeases | undefined;
  /** False: it finds by words alone. No provider is asked, and no vector is given to it. */
  keepsVectors?: boolean | undefined;
  /** Finds in place of the store, for a backend that has a search of its own. It is given up to date files. */
  search?: ((input: SearchInput) => Promise<SearchOutcome>) | undefined;
  /** Another way to look at the files than that of the settings. */
  sources?: readonly IndexedSource[] | undefined;
}): Promise<MemorySearchManager> {
  const { store, context, backend, leases, keepsVectors, search, sources } = input;
  const { agentId, workspaceDir, stateDir, settings, signal } = context;
  const lookOnly = context.lookOnly === true;
  const { path } = settings.store;
  try {
    const ledger = await openLedger({
      store: backend,
      path,
      mayCreate: !lookOnly,
      isOwnPlace: dirname(path) === join(stateDir, "memory"),
      owner: { agentId, workspaceDir },
      locksDir: join(stateDir, "locks"),
      cacheMaxEntries: settings.cache.enabled ? settings.cache.maxEntries : 0,
      oneShot: context.oneShot,
      signal,
    });
    try {
      const index = await createStoredIndex({ ledger, store, leases, keepsVectors, lookOnly });
      return await manageIndex({ index, context, backend, search, sources });
    } catch (error) {
      await ledger.close();
      throw error;
    }
  } catch (error) {
    await store.close().catch(() => undefined);
    throw error;
  }
}
