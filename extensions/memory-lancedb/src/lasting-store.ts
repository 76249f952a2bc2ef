import { MemoryError } from "@memslot/core";
import type { ChunkIndex, FileTable } from "@memslot/indexing";
import { createFolderRecord, type FolderRecord, setTablesAside } from "./upkeep/folder-record.ts";
import { createLanceStore, type LanceStoreOptions, whyNotUsed } from "./lance-store.ts";
import { createMetaTable } from "./tables/meta.ts";
import { whyUnreadable } from "./tables/read-whole.ts";
import { reasonOf } from "./store-failure.ts";
import { createTables } from "./tables/tables.ts";

/** A disk that damages what is written to it is not fought for ever. */
const maxRepairs = 3;
/** After so long without a write the folder is recorded as it is. */
const quietMs = 500;

/**
 * A store in a folder of this machine that outlives damage: where files of it are missing, or are not what was written,
 * its tables are set aside, it is begun anew in place, and the call that met it is made once more. In a bucket and in the
 * cloud the place itself looks after what it keeps. Closes the place.
 */
export async function createLastingStore(options: LanceStoreOptions): Promise<ChunkIndex> {
  const { place, mayCreate } = options;
  if (place.kind !== "folder" || place.folder === undefined || !mayCreate || !(await isOurs(options)))
    return await createLanceStore(options);
  const { folder } = place;
  const record = createFolderRecord(folder);
  const notices: string[] = [];
  let remade = 0;
  let running: Promise<void> | undefined;
  let busy = 0;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  if ((await isDamagedAtFirst(record, options)) !== undefined)
    await setAside("its files are not those that were written");
  let store = await openInner().catch(async (error: unknown) => {
    // What keeps it from being opened may be something else: the next attempt says so.
    if ((await whyUnreadable(place.connection)) === undefined) throw error;
    await setAside(reasonOf(error));
    return await openInner();
  });

  function openInner(): Promise<ChunkIndex> {
    return createLanceStore({ ...options, place: { ...place, close: async () => undefined }, changing });
  }

  async function setAside(reason: string): Promise<void> {
    const aside = await record.changing(() => setTablesAside(folder));
    notices.push(
      `the index ${folder} was damaged (${reason}) and is made anew from the notes; the damaged tables are kept in ${aside} and can be deleted`,
    );
  }

  /** Runs what writes or deletes files: what they were does not count any more. */
  async function changing<Result>(work: () => Promise<Result>): Promise<Result> {
    busy++;
    clearTimeout(timer);
    try {
      return await record.changing(work);
    } finally {
      busy--;
      if (busy === 0 && !isClosed) timer = setTimeout(() => void write(), quietMs).unref();
    }
  }

  async function write(): Promise<void> {
    // What cannot be recorded is believed as it is.
    if (busy === 0) await record.write().catch(() => undefined);
  }

  async function remake(reason: string): Promise<void> {
    remade++;
    const old = store;
    await old.close().catch(() => undefined);
    await setAside(reason);
    store = await openInner();
  }

  /** True: the call can be made once more. */
  async function recover(used: ChunkIndex, reason: () => Promise<string | undefined>): Promise<boolean> {
    if (isClosed) return false;
    if (used !== store) return true;
    if (running === undefined) {
      const found = remade < maxRepairs ? await reason() : undefined;
      if (found === undefined) return used !== store;
      running ??= remake(found).finally(() => (running = undefined));
    }
    await running;
    return true;
  }

  async function whyDamaged(error: unknown): Promise<string | undefined> {
    if ((await record.compare(true)) === "differs") return "its files are not those that were written";
    return (await whyUnreadable(place.connection)) === undefined ? undefined : reasonOf(error);
  }

  async function call<Result>(use: (store: ChunkIndex) => Promise<Result>): Promise<Result> {
    await running;
    const used = store;
    const differs = async (): Promise<string | undefined> =>
      (await record.compare(false)) === "differs" ? "its files are not those that were written" : undefined;
    if (busy === 0 && !record.looksSame()) await recover(used, differs);
    const asked = store;
    try {
      return await use(asked);
    } catch (error) {
      if (!MemoryError.is(error, "UNAVAILABLE") && !(MemoryError.is(error, "CLOSED") && asked !== store)) throw error;
      if (!(await recover(asked, () => whyDamaged(error)))) throw error;
      return await use(store);
    }
  }

  /** The same for a call that writes. */
  async function change<Result>(use: (store: ChunkIndex) => Promise<Result>): Promise<Result> {
    return await call((current) => changing(() => use(current)));
  }

  function tableOf(of: (store: ChunkIndex) => FileTable): FileTable {
    return {
      listFiles: () => call((current) => of(current).listFiles()),
      replaceFiles: (files) => change((current) => of(current).replaceFiles(files)),
      touchFiles: (files) => change((current) => of(current).touchFiles(files)),
      removeFiles: (files) => change((current) => of(current).removeFiles(files)),
    };
  }

  const { builds, leases, upkeep, revision } = store;
  if (await record.compare(false).then((found) => found === "unknown"))
    timer = setTimeout(() => void write(), quietMs).unref();
  return {
    ...tableOf((current) => current),
    ...(revision && { revision: () => call(async (current) => `${remade}.${await current.revision?.()}`) }),
    ...(builds && {
      builds: {
        start: async (name) => {
          const table = await change((current) => partOf(current.builds).start(name));
          return tableOf(() => table);
        },
        finish: () => change((current) => partOf(current.builds).finish()),
        abandon: () => change((current) => partOf(current.builds).abandon()),
      },
    }),
    ...(leases && {
      leases: {
        acquire: (name, reason) => partOf(store.leases).acquire(name, reason),
        release: (name) => partOf(store.leases).release(name),
        report: (progress) => partOf(store.leases).report(progress),
        holder: (name) => partOf(store.leases).holder(name),
      },
    }),
    ...(upkeep && {
      upkeep: {
        check: () => call((current) => partOf(current.upkeep).check()),
        repair: () => change((current) => partOf(current.upkeep).repair()),
        compact: () => change((current) => partOf(current.upkeep).compact()),
        tables: () => call((current) => partOf(current.upkeep).tables()),
        sample: (count) => call((current) => partOf(current.upkeep).sample(count)),
        vectorOf: (space, hash) => call((current) => partOf(current.upkeep).vectorOf(space, hash)),
      },
    }),
    searchKeyword: (query) => call((current) => current.searchKeyword(query)),
    searchVector: (query) => call((current) => current.searchVector(query)),
    useSpace: (space) => call((current) => current.useSpace(space)),
    // It takes over what another index has.
    pendingVectors: (space, limit) => change((current) => current.pendingVectors(space, limit)),
    putVectors: (space, entries) => change((current) => current.putVectors(space, entries)),
    knownVectors: (space, hashes) => call((current) => current.knownVectors(space, hashes)),
    spaces: () => call((current) => current.spaces()),
    spaceStats: (space, within) => call((current) => current.spaceStats(space, within)),
    quarantine: (space, entries) => change((current) => current.quarantine(space, entries)),
    quarantined: (space, limit) => call((current) => current.quarantined(space, limit)),
    releaseQuarantine: (space) => change((current) => current.releaseQuarantine(space)),
    probeVector: () => call((current) => current.probeVector()),
    stats: () => call((current) => current.stats()),
    health() {
      const health = store.health();
      return { ...health, ...(remade > 0 && { remade }), notices: [...new Set([...notices, ...health.notices])] };
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      clearTimeout(timer);
      await running?.catch(() => undefined);
      const was = await record.compare(false).catch(() => "unknown");
      await store.close();
      // A folder that is not what it was stays as it is, for the next one to see.
      if (was === "unknown") await write();
      await place.close();
    },
  };
}

/** Files that are not what was written, or where that is not known tables that cannot be read. */
async function isDamagedAtFirst(record: FolderRecord, { place }: LanceStoreOptions): Promise<unknown> {
  const found = await record.compare(true);
  if (found === "same") return undefined;
  return found === "differs" ? found : await whyUnreadable(place.connection);
}

/** What another agent or a later release has made is left alone, whatever is the matter with it. */
async function isOurs({ place, owner }: LanceStoreOptions): Promise<boolean> {
  const tables = createTables(place.connection, place.tablePrefix);
  try {
    return whyNotUsed(await createMetaTable(tables, owner).read(), owner) === undefined;
  } catch {
    // Nobody can tell any more: it lies in the folder of this agent.
    return true;
  } finally {
    await tables.close();
  }
}

/** A store that is begun anew has what it had before. */
function partOf<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new MemoryError("UNAVAILABLE", "the index was begun anew without a part of it");
  return part;
}
