import { connect } from "@lancedb/lancedb";
import { messageOf } from "@memslot/core";
import type { ChunkStore, IndexLeases } from "@memslot/indexing";
import { createLanceStore } from "./lance-store.ts";
import { closeNative } from "./place/close-native.ts";
import { type LancePlace, layoutVersion, type OpenPlaceOptions, createRun, type Run } from "./place/place.ts";
import { Builds, type Found } from "./tables/builds.ts";
import { createTables, type IndexOwner, layoutOf } from "./tables/tables.ts";
import { retryConflicts } from "./lance/writes.ts";
import { createLastingFolder } from "./upkeep/lasting-folder.ts";
import { dropUnreadable } from "./upkeep/readable.ts";
import { takeOver } from "./upkeep/take-over.ts";
import { sharedTidying, type TidySettings, usualTidying } from "./upkeep/tidy.ts";

/** Where the index is, and what may be done there. */
export interface LanceStoreSettings extends Omit<OpenPlaceOptions, "timing"> {
  /** The folder of the notes. With the agent it says whose notes an index holds. Absent: anybody's. */
  workspaceDir?: string | undefined;
  /** True: what cannot be read of the index is deleted, to be made again. A person has asked for it. */
  rebuild?: boolean | undefined;
  /** Absent: as usual. */
  tidying?: Partial<TidySettings> | undefined;
}

export interface OpenedStore {
  store: Required<ChunkStore>;
  /** Of a place that several hosts share; absent: the host has those of this machine. */
  leases?: IndexLeases | undefined;
}

/** Opens the index at a place, or one in memory where that is another's or must not be made. Closes the place. */
export async function openStore(
  place: LancePlace,
  owner: IndexOwner | undefined,
  { mayCreate, rebuild, tidying }: Pick<LanceStoreSettings, "mayCreate" | "rebuild" | "tidying">,
): Promise<OpenedStore> {
  const { connection, folder, location } = place;
  const run = createRun(place);
  const notices: string[] = [];
  const tables = createTables(connection, place.tablePrefix);
  const builds = new Builds(tables, owner, place.tables);
  const opening = <Result>(call: () => Promise<Result>, deadlineMs = 60_000): Promise<Result> =>
    run({ what: "opening the index", deadlineMs, isListing: true, forget: () => builds.forget(), call });
  const mayMend = folder !== undefined && mayCreate;
  if (rebuild === true && mayCreate && folder === undefined) {
    const dropped = await dropUnreadable(place);
    if (dropped.length > 0) notices.push(`the index ${location} was damaged: ${dropped.join(", ")} are made again`);
  }
  const found = await opening(() => builds.find()).catch(async (error: unknown) => {
    // What cannot be read in this folder of the agent is begun anew; elsewhere nobody can tell whose it is.
    if (!mayMend && (mayCreate || place.kind !== "folder")) throw error;
    const unread = mayMend ? undefined : `${messageOf(error)}; the next sync makes it anew`;
    return { names: await tables.names(), active: undefined, unread };
  });
  const { names, active } = found;
  const isNew = active === undefined;
  const reason = "unread" in found && found.unread !== undefined ? found.unread : whyOther(found, owner);
  if (reason !== undefined || (isNew && !mayCreate)) {
    if (reason !== undefined)
      notices.push(`the index ${location} is not used, and this one is kept in memory: ${reason}`);
    await tables.close();
    return {
      store: await inMemory({ place, owner, run, notices, isOther: reason !== undefined }),
      leases: place.leases,
    };
  }
  const lasting = mayMend ? createLastingFolder({ folder, connection, run, notices }) : undefined;
  if (await lasting?.checkAtFirst()) builds.forget();
  // A place that does not keep what several hosts write is refused before anything is there.
  if (isNew) await place.toWrite?.();
  const earlier = names.filter((name) => (layoutOf(name) ?? layoutVersion) < layoutVersion);
  if (earlier.length > 0 && mayCreate) {
    for (const name of earlier) await opening(() => retryConflicts(() => tables.drop(name)));
    notices.push(`the index ${location} was made by an earlier release and is made anew from the notes`);
  }
  if (isNew && place.earlier) {
    const from = place.earlier;
    await opening(() => takeOver(from, tables, builds), 3_600_000);
    notices.push(
      `the index ${from.location} is used as ${location} from now on, with all of its vectors; what is left under the old name can be deleted`,
    );
  } else if (isNew) {
    builds.beside = (await place.others?.()) ?? [];
    notices.push(...besideOthers(location, builds.beside));
  }
  const store = createLanceStore({
    tables,
    builds,
    place,
    tidying: { ...(folder === undefined ? sharedTidying : usualTidying), ...tidying },
    run: lasting?.run ?? run,
    changing:
      lasting?.changing ??
      (async (work) => {
        await place.toWrite?.();
        return await work();
      }),
    notices,
    remarks: besideOthers(location, active?.facts.beside),
    close: () => place.close(),
  });
  const close = (): Promise<void> => (lasting ? lasting.close(store.close) : store.close());
  return { store: { ...store, close }, leases: place.leases };
}

function besideOthers(location: string, others: readonly string[] = []): string[] {
  if (others.length === 0) return [];
  const how =
    "machines share one where the workspace is the agent's own on each, or memorySearch.workspaceId is the same";
  return [`the index ${location} is new; this agent has others (${others.join(", ")}); ${how}`];
}

/** Why an index is left alone that is at the place; undefined for one of our own. */
function whyOther(
  { names, active }: Pick<Found, "names" | "active">,
  owner: IndexOwner | undefined,
): string | undefined {
  const layout = Math.max(0, ...names.flatMap((name) => layoutOf(name) ?? []));
  if (layout > layoutVersion)
    return `it was made by a later release of memslot (layout ${layout}, this one knows ${layoutVersion}); bring memslot up to date`;
  const other = active?.facts.owner;
  if (owner && other && other.agentId !== owner.agentId)
    return `it holds the notes of the agent "${other.agentId}", not of "${owner.agentId}", and each agent has an index of its own; set dbPath to another place`;
  return undefined;
}

/** For as long as it is open. */
async function inMemory(input: {
  place: LancePlace;
  owner: IndexOwner | undefined;
  run: Run;
  notices: readonly string[];
  isOther: boolean;
}): Promise<Required<ChunkStore>> {
  const { place, owner, run, notices } = input;
  const connection = await connect("memory://");
  const tables = createTables(connection, "");
  return createLanceStore({
    tables,
    builds: new Builds(tables, owner),
    place: { kind: "folder", location: input.isOther ? "memory" : place.location, folder: undefined },
    tidying: usualTidying,
    run,
    changing: (work) => work(),
    notices,
    remarks: [],
    async close() {
      await closeNative(connection);
      await place.close();
    },
  });
}
