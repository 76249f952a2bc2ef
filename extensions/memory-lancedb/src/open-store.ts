import { connect } from "@lancedb/lancedb";
import { messageOf } from "@memslot/core";
import type { ChunkStore, IndexLeases } from "@memslot/indexing";
import { closeNative } from "./place/close-native.ts";
import { createRun } from "./place/failures.ts";
import type { LancePlace, OpenPlaceOptions } from "./place/open-connection.ts";
import { createStore } from "./store.ts";
import { type Found, IndexState } from "./tables/index-builds.ts";
import { Leases } from "./tables/leases.ts";
import { type IndexOwner, layoutOf, layoutVersion, retryConflicts, Tables } from "./tables/tables.ts";
import { type CompactionSettings, folderCompaction, sharedCompaction } from "./upkeep/compaction.ts";
import { createFolderRepair, dropUnreadable } from "./upkeep/damage.ts";

export interface LanceStoreSettings extends OpenPlaceOptions {
  /** The folder of the notes. With the agent id it identifies the owner of the index. Absent: no owner. */
  workspaceDir?: string | undefined;
  /** True: tables that cannot be read are deleted, to be rebuilt. The user has asked for it. */
  rebuild?: boolean | undefined;
  tidying?: Partial<CompactionSettings> | undefined;
}

export interface OpenedStore {
  store: Required<ChunkStore>;
  leases?: IndexLeases | undefined;
}

/** Opens the index; one in memory if it belongs to another agent or release, or must not be created. Closes the place. */
export async function openStore(
  place: LancePlace,
  settings: LanceStoreSettings,
  notices: string[] = [],
): Promise<OpenedStore> {
  const { connection, folder, location, kind, within } = place;
  const { agentId, workspaceDir, mayCreate, rebuild, tidying } = settings;
  const owner = workspaceDir === undefined ? undefined : { agentId, workspaceDir };
  const isShared = kind !== "folder";
  const tables = new Tables(connection, place.tablePrefix);
  const state = new IndexState({ tables, owner, location, isShared });
  const plainRun = createRun(place);
  const leaseInput = { tables, run: plainRun, placeName: place.name, probes: kind === "bucket" };
  const leases = isShared ? new Leases(leaseInput) : undefined;
  const repair =
    folder === undefined || !mayCreate
      ? undefined
      : createFolderRepair({ folder, tables, within, run: plainRun, notices });
  const run = repair?.run ?? plainRun;
  const opening = <Result>(call: () => Promise<Result>): Promise<Result> =>
    run({ what: "opening the index", deadlineMs: 60_000, isListing: true, forget: () => state.forget(), call });
  const closePlace = async (): Promise<void> => {
    await leases?.close();
    await tables.close();
    await place.close();
  };

  if (rebuild === true && mayCreate && isShared) {
    const dropped = await dropUnreadable(tables, within);
    if (dropped.length > 0) notices.push(`the index ${location} was damaged: ${dropped.join(", ")} are rebuilt`);
  }
  let found: Found | string;
  try {
    found = await opening(() => state.find());
  } catch (error) {
    if (isShared || mayCreate) throw error;
    found = `${messageOf(error)}; the next sync rebuilds it`;
  }
  const reason = typeof found === "string" ? found : whyOther([...tables.listed], found, owner);
  if (typeof found === "string" || reason !== undefined || (!mayCreate && found.active === undefined)) {
    if (reason !== undefined)
      notices.push(`the index ${location} is not used, and this one is kept in memory: ${reason}`);
    const memory = await connect("memory://");
    const inMemory: LancePlace = {
      kind: "folder",
      connection: memory,
      tablePrefix: "",
      name: "memory",
      within,
      location: reason === undefined ? location : "memory",
      close: () => closeNative(memory).then(closePlace),
    };
    const { store } = await openStore(inMemory, { ...settings, mayCreate: true, rebuild: false }, notices);
    return { store, leases };
  }

  const isDamaged = (await repair?.checkAtOpen()) === true;
  if (isDamaged) state.forget();
  const { active } = isDamaged ? { active: undefined } : found;
  if (mayCreate) {
    // A place without conditional writes is refused before anything is written.
    if (active === undefined) await leases?.prepare();
    const earlier = [...tables.listed].filter((name) => (layoutOf(name) ?? layoutVersion) < layoutVersion);
    for (const name of earlier) await opening(() => retryConflicts(() => tables.drop(name)));
    if (earlier.length > 0)
      notices.push(`the index ${location} was made by an earlier release and is rebuilt from the notes`);
  }
  if (active === undefined) {
    state.beside = (await place.others?.()) ?? [];
    notices.push(...besideOthers(location, state.beside));
  }
  const store = createStore({
    tables,
    state,
    location,
    folder,
    kind,
    leases,
    repair,
    settings: { ...(isShared ? sharedCompaction : folderCompaction), ...tidying },
    run,
    notices,
    remarks: besideOthers(location, active?.facts.beside),
    close: closePlace,
  });
  return { store, leases };
}

function besideOthers(location: string, others: readonly string[] = []): string[] {
  if (others.length === 0) return [];
  const how =
    "machines share one where the workspace is the agent's own on each, or memorySearch.workspaceId is the same";
  return [`the index ${location} is new; this agent has others (${others.join(", ")}); ${how}`];
}

function whyOther(names: readonly string[], { active }: Found, owner: IndexOwner | undefined): string | undefined {
  const layout = Math.max(0, ...names.flatMap((name) => layoutOf(name) ?? []));
  if (layout > layoutVersion)
    return `it was made by a later release of memslot (layout ${layout}, this one knows ${layoutVersion}); bring memslot up to date`;
  const other = active?.facts.owner;
  if (owner && other && other.agentId !== owner.agentId)
    return `it holds the notes of the agent "${other.agentId}", not of "${owner.agentId}", and each agent has an index of its own; set dbPath to another place`;
  return undefined;
}
