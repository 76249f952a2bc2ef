import { defineMemoryPlugin, type MemoryPlugin } from "@memslot/core";
import type { OpenedStore } from "./open-store.ts";
import { configSchema, type LanceOptions, readOptions } from "./options.ts";
import type { TidySettings } from "./upkeep/tidy.ts";

export type { OpenedStore } from "./open-store.ts";
export type { LanceOptions } from "./options.ts";

export interface LanceStoreSettings {
  lance: LanceOptions;
  agentId: string;
  /** Names the index among those at the same place. Absent: the agent does. */
  name?: string | undefined;
  /** The index itself, where the options name no place. Absent: a folder of that name below the state folder. */
  folder?: string | undefined;
  /** Where an index that has no other place is kept. */
  stateDir: string;
  /** The folder of the notes. With the agent it says whose notes an index holds. Absent: anybody's. */
  workspaceDir?: string | undefined;
  /** False: an index that is not there is not made, only one in memory for as long as it is open. */
  mayCreate: boolean;
  /** Absent: as usual. */
  tidying?: Partial<TidySettings> | undefined;
  /** Gives up opening. */
  signal: AbortSignal;
}

/**
 * Opens an index in LanceDB as a store, for a plugin of one's own, with the leases of the place where several hosts share
 * it. Loads LanceDB with the first call. Throws `CONFIG` for an option that cannot be used, and `UNAVAILABLE` where
 * LanceDB does not load or the place cannot be used. An index of another agent, or of a later release, is left alone and
 * the index is kept in memory: `stats().notices` says so.
 */
export async function openLanceStore(settings: LanceStoreSettings): Promise<OpenedStore> {
  const { lance, agentId, name = agentId, folder, stateDir, workspaceDir, mayCreate, signal } = settings;
  signal.throwIfAborted();
  const { openPlace } = await import("./place/open-place.ts");
  const place = await openPlace({ lance, agentId: name, folder, stateDir, mayCreate, signal });
  try {
    // Only now: it loads LanceDB, which is known to load.
    const { openStore } = await import("./open-store.ts");
    signal.throwIfAborted();
    const owner = workspaceDir === undefined ? undefined : { agentId, workspaceDir };
    return await openStore({ place, mayCreate, owner, tidying: settings.tidying ?? {} });
  } catch (error) {
    await place.close();
    throw error;
  }
}

const plugin: MemoryPlugin = defineMemoryPlugin({
  id: "memory-lancedb",
  configSchema,
  async open(context) {
    const { agentId, workspaceDir, stateDir, storePlace, signal } = context;
    // Before the store is open, so that nothing but the manager has to close it.
    const { createIndexedManager } = await import("@memslot/indexing");
    const { store, leases } = await openLanceStore({
      lance: readOptions(context.options),
      agentId,
      name: storePlace.name,
      folder: storePlace.folder,
      stateDir,
      workspaceDir,
      mayCreate: context.lookOnly !== true,
      signal,
    });
    return await createIndexedManager({ store, leases, context, backend: "memory-lancedb" });
  },
});

export default plugin;
