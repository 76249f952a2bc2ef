import type { MemoryPluginContext, MemorySearchManager } from "@memslot/core";
import type { NoteIndex } from "../note-index.ts";
import type { IndexLeases, Ledger } from "../ledger/ledger.ts";
import type { ChunkStore } from "../chunk-store.ts";
import type { IndexedSource } from "../indexed-source.ts";
import { ledgerOptions, openLedger } from "../ledger/open-ledger.ts";
import { manageIndex } from "../manager.ts";
import type { SearchInput, SearchOutcome } from "../search/search-outcome.ts";
import { createStoredIndex } from "./stored-index.ts";

/** A manager with chunks in a store. Closes the store. Throws `UNAVAILABLE`, store errors, `AbortError`. */
export async function createIndexedManager(input: {
  store: ChunkStore;
  context: MemoryPluginContext;
  backend: string;
  /** Leases of a store that other hosts write to. Absent: only this machine writes. */
  leases?: IndexLeases | undefined;
  /** False: it finds by keywords only. No provider is asked, and no vector is given to it. */
  keepsVectors?: boolean | undefined;
}): Promise<MemorySearchManager> {
  const { store, context, backend, leases, keepsVectors } = input;
  const readOnly = context.readOnly === true;
  try {
    const ledger = await openLedger(ledgerOptions(context, backend));
    try {
      const index = await createStoredIndex({ ledger, store, leases, keepsVectors, readOnly });
      return await manageIndex({ index, context, backend, keepsVectors });
    } catch (error) {
      await ledger.close();
      throw error;
    }
  } catch (error) {
    await store.close().catch(() => undefined);
    throw error;
  }
}

/** A tool with an index of its own, which answers questions instead of a store. */
interface Searcher {
  search(input: SearchInput): Promise<SearchOutcome>;
  /** Called first and after each sync: the ledger may have other files. */
  refresh(): Promise<void>;
}

export async function createSearchedManager(input: {
  ledger: Ledger;
  searcher: Searcher;
  context: MemoryPluginContext;
  backend: string;
  sources: readonly IndexedSource[];
}): Promise<MemorySearchManager> {
  const { ledger, searcher, ...others } = input;
  const index: NoteIndex = {
    ...ledger,
    // The tool has one index, so a second build is not searchable.
    startBuild: undefined,
    searchKeyword: async ({ terms }) => ({ rows: [], chunkCount: 0, documentFrequencies: terms.map(() => 0) }),
    searchVector: async () => ({ rows: [] }),
    async stats() {
      await searcher.refresh();
      return await ledger.stats();
    },
    health: () => ({ ...ledger.health(), fts: { enabled: true, available: true } }),
  };
  return await manageIndex({ ...others, index, keepsVectors: false, search: (question) => searcher.search(question) });
}
