import { createHash } from "node:crypto";
import { join } from "node:path";
import { messageOf } from "@memslot/core";
import type { ChunkIndex, IndexLeases } from "@memslot/indexing";
import { openFolderLeases } from "@memslot/indexing/ledger";
import type { LanceOptions } from "./options.ts";
import { openPlace } from "./place/open-place.ts";
import { type LancePlace } from "./place/place.ts";
import type { SharedCacheOptions } from "./vectors/shared-cache.ts";
import type { TidySettings } from "./upkeep/tidy.ts";

export interface LanceStoreSettings {
  lance: LanceOptions;
  agentId: string;
  /** Names the index among those at the same place. Absent: the agent does. */
  name?: string | undefined;
  /** The index itself, where the options name no place. Absent: a folder of that name below the state folder. */
  folder?: string | undefined;
  /** Where locks, and an index that has no other place, are kept. */
  stateDir: string;
  /** The folder of the notes. With the agent it says whose notes an index holds. Absent: anybody's. */
  workspaceDir?: string | undefined;
  /** False: an index that is not there is not made, only one in memory for as long as it is open. */
  mayCreate: boolean;
  /** The vectors of memory-core. Absent: they are not shared. */
  shared?: Omit<SharedCacheOptions, "mayCreate" | "owner"> | undefined;
  /** Absent: as usual. */
  tidying?: Partial<TidySettings> | undefined;
  /** Gives up opening. */
  signal: AbortSignal;
}

/** Readers on other machines may be slow. */
const sharedKeepVersionsMs = 900_000;

/**
 * Opens an index in LanceDB. Throws `CONFIG` for an option that cannot be used, and `UNAVAILABLE` where LanceDB does not
 * load or the place cannot be used. An index of another agent, or of a later release, is left alone and the index is kept
 * in memory: `health().notices` says so.
 */
export async function openStore(settings: LanceStoreSettings): Promise<ChunkIndex> {
  const { agentId, stateDir, workspaceDir, mayCreate, shared, signal } = settings;
  signal.throwIfAborted();
  const place = await openPlace({
    lance: settings.lance,
    agentId: settings.name ?? agentId,
    folder: settings.folder,
    stateDir,
    mayCreate,
    signal,
  });
  const notices: string[] = [];
  try {
    const owner = workspaceDir === undefined ? undefined : { agentId, workspaceDir };
    // Only now: these load LanceDB, and it is known to load.
    const [{ createLastingStore }, { usualTidying }, { openLocalTouches }, leases] = await Promise.all([
      import("./lasting-store.ts"),
      import("./upkeep/tidy.ts"),
      import("./tables/local-touches.ts"),
      leasesOf(place, stateDir, notices),
    ]);
    signal.throwIfAborted();
    const keepVersionsMs = place.kind === "folder" ? usualTidying.keepVersionsMs : sharedKeepVersionsMs;
    return await createLastingStore({
      place: leases === undefined ? place : { ...place, close: () => leases.close().then(() => place.close()) },
      mayCreate,
      owner,
      leases: leases ?? place.leases,
      shared: shared && { ...shared, mayCreate, owner },
      touches: place.kind === "folder" ? undefined : openLocalTouches(touchesPath(place, stateDir)),
      tidying: { ...usualTidying, keepVersionsMs, ...settings.tidying },
      notices,
    });
  } catch (error) {
    await place.close();
    throw error;
  }
}

/** Of a folder, where they are locks of this machine. */
async function leasesOf(
  { kind, folder }: LancePlace,
  stateDir: string,
  notices: string[],
): Promise<(IndexLeases & { close(): Promise<void> }) | undefined> {
  if (kind !== "folder" || folder === undefined) return undefined;
  try {
    return await openFolderLeases({ indexPath: folder, locksDir: join(stateDir, "locks") });
  } catch (error) {
    notices.push(`several processes may bring this index up to date at once: ${messageOf(error)}`);
    return undefined;
  }
}

function touchesPath({ location, tablePrefix }: LancePlace, stateDir: string): string {
  const name = createHash("sha256")
    .update(JSON.stringify([location, tablePrefix]))
    .digest("hex")
    .slice(0, 32);
  return join(stateDir, "memory", "lancedb-times", `${name}.json`);
}
