import type { MemoryPluginContext, MemorySearchManager } from "@memslot/core";
import type { IndexLeases } from "../ledger/ledger.ts";
import type { ChunkStore } from "../chunk-store.ts";
import { ledgerOptions, openLedger } from "../ledger/open-ledger.ts";
import { manageIndex } from "../manager.ts";
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
