import type { MemoryPluginContext, MemorySearchManager } from "@memslot/core";
import type { NoteIndex } from "../note-index.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { IndexedSource } from "../indexed-source.ts";
import { manageIndex } from "../manager.ts";
import type { SearchInput, SearchOutcome } from "../search/search-outcome.ts";

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
