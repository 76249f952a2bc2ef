import pLimit from "p-limit";
import { connect } from "@lancedb/lancedb";
import { MemoryError } from "@memslot/core";
import type { ChunkIndex, FileTable, IndexHealth, IndexLeases, IndexStats } from "@memslot/indexing";
import { createBuilds } from "./builds.ts";
import { createFileTable, type FileTarget } from "./tables/file-table.ts";
import { folderBytes } from "./upkeep/folder-size.ts";
import { createGenerations } from "./generations.ts";
import { createIndexView } from "./index-view.ts";
import { createKeywordSearch } from "./words/keyword-search.ts";
import { shareLeases } from "./leases.ts";
import type { LocalTouches } from "./tables/local-touches.ts";
import { createMetaTable, type IndexOwner, layoutVersion } from "./tables/meta.ts";
import { closeNative } from "./place/close-native.ts";
import type { LancePlace } from "./place/place.ts";
import { createQuarantine } from "./vectors/quarantine.ts";
import { createVectorSettling } from "./vectors/settle-vectors.ts";
import { createSharedCache, noSharedCache, type SharedCacheOptions } from "./vectors/shared-cache.ts";
import { createSpaces } from "./vectors/spaces.ts";
import { isGone, toStoreError } from "./store-failure.ts";
import { countsOf, generationOf } from "./upkeep/store-stats.ts";
import { createTables, type Tables } from "./tables/tables.ts";
import { createTidy, type TidySettings } from "./upkeep/tidy.ts";
import { createUpkeep } from "./upkeep/upkeep.ts";
import { createVectorSearch } from "./vectors/vector-search.ts";
import { createVectors } from "./vectors/vectors.ts";
import { createWriteQueue } from "./tables/write-queue.ts";

/** LanceDB uses all cores for one. */
const searchesAtOnce = 4;
const readDeadlineMs = 60_000;
const writeDeadlineMs = 300_000;
const longDeadlineMs = 3_600_000;

export interface LanceStoreOptions {
  place: LancePlace;
  /** False: an index that is not there is kept in memory. */
  mayCreate: boolean;
  owner?: IndexOwner | undefined;
  /** Where leases come from. Absent: only this process writes. */
  leases?: IndexLeases | undefined;
  /** Absent: vectors are not shared with memory-core. */
  shared?: SharedCacheOptions | undefined;
  /** Where other machines write to the same index. */
  touches?: LocalTouches | undefined;
  tidying: TidySettings;
  /** Runs what writes or deletes files behind the calls. Absent: nobody wants to know. */
  changing?: Tables["changing"] | undefined;
  /** What there is to know from the beginning, a line each. */
  notices: readonly string[];
}

/** A store on tables of LanceDB. `@lancedb/lancedb` is loaded. Closes the place. */
export async function createLanceStore(options: LanceStoreOptions): Promise<ChunkIndex> {
  const { place, owner, touches } = options;
  const notices = [...options.notices];
  const own = await ownConnection(options, notices);
  const location = own.isInMemory ? "memory" : place.location;
  const folder = own.isInMemory ? undefined : place.folder;
  const { tables } = own;
  const meta = createMetaTable(tables, owner);
  const writes = createWriteQueue();
  const generations = createGenerations(tables);
  const view = createIndexView(meta, generations);
  const spaces = createSpaces(tables, meta);
  const quarantine = createQuarantine({ meta, writes, view, spaces });
  const leases = options.leases && shareLeases(options.leases);
  const settling = createVectorSettling({ spaces, view });
  const tidy = createTidy({ tables, meta, settling, writes, leases, settings: options.tidying });
  const shared = options.shared
    ? createSharedCache(options.shared, async () => (await view.read()).active.chunkCount, notice)
    : noSharedCache;
  const vectors = createVectors({ spaces, generations, view, writes, quarantine, shared, wrote: tidy.wrote });
  let idNext = firstId();

  function notice(line: string): void {
    if (!notices.includes(line)) notices.push(line);
  }

  function filesOf(target: FileTarget): FileTable {
    return createFileTable({ generations, writes, nextId: () => idNext++, target });
  }

  /** Of one build, whatever it is for. */
  function filesIn(generation: number): FileTable {
    return filesOf({ generation: async () => generation, changed });
  }

  async function changed(generation: number): Promise<void> {
    const table = await generations.table(generation);
    if (table) tidy.wrote(table);
    await quarantine.forgetGone();
  }

  const files = filesOf({
    async generation() {
      const known = await meta.read();
      // The first write of all: whose index it is stands there before anything of it does.
      if (known.isNew) await meta.write([{ key: "last-generation", value: known.lastGeneration }]);
      return known.active.id;
    },
    changed,
  });
  const builds = createBuilds({
    meta,
    writes,
    filesOf,
    async changed() {
      tidy.dropped();
      await quarantine.forgetGone();
    },
  });
  const upkeep = createUpkeep({
    tables,
    meta,
    generations,
    spaces,
    view,
    vectors,
    settling,
    writes,
    tidy,
    leases,
    filesOf: filesIn,
    folder,
    keepVersionsMs: options.tidying.keepVersionsMs,
    isShared: place.kind !== "folder",
  });
  const searchKeyword = createKeywordSearch({ generations, view });
  const searchVector = createVectorSearch({ spaces, generations, view });
  // However many search at once, a write comes through between them.
  const searchGate = pLimit(searchesAtOnce);
  let closing: Promise<void> | undefined;

  /** Turns failures into what a caller can act on. What another process has deleted under a reader is read anew. */
  function guarded<Args extends readonly unknown[], Result>(
    what: string,
    deadlineMs: number,
    call: (...args: Args) => Promise<Result>,
  ): (...args: Args) => Promise<Result> {
    return async (...args) => {
      if (closing) throw new MemoryError("CLOSED", `the index ${location} is closed`);
      try {
        return await place.within(what, deadlineMs, undefined, async () => {
          try {
            return await call(...args);
          } catch (error) {
            if (!isGone(error) || MemoryError.is(error)) throw error;
            tables.forget();
            return await call(...args);
          }
        });
      } catch (error) {
        throw toStoreError(error, location);
      }
    };
  }

  function guardedFiles(table: FileTable): FileTable {
    return {
      listFiles: guarded("listing the files of the index", readDeadlineMs, table.listFiles),
      replaceFiles: guarded("writing to the index", writeDeadlineMs, table.replaceFiles),
      touchFiles: guarded("writing to the index", writeDeadlineMs, table.touchFiles),
      removeFiles: guarded("removing files from the index", writeDeadlineMs, table.removeFiles),
    };
  }

  const health: Omit<IndexHealth, "notices"> = {
    location,
    fts: { enabled: true, available: true },
    vector: { enabled: true, available: true },
  };

  async function stats(): Promise<IndexStats> {
    const { meta: known, active, next } = await view.read();
    return {
      ...countsOf(active),
      ...(await vectors.counts()),
      databaseBytes: folder === undefined ? await remoteBytes() : await folderBytes(folder),
      walBytes: 0,
      reusableBytes: 0,
      generation: generationOf(known, next),
    };
  }

  /** As the newest versions of the tables say. */
  async function remoteBytes(): Promise<number> {
    const { active, next, spaces: known } = await meta.read();
    const all = [
      generations.table(active.id),
      ...(next ? [generations.table(next.id)] : []),
      ...known.map(({ id }) => spaces.table(id)),
    ];
    let bytes = 0;
    for (const table of await Promise.all(all)) bytes += (await table?.stats())?.totalBytes ?? 0;
    return bytes;
  }

  return {
    ...guardedFiles(touches ? withTouches(files, touches) : files),
    revision: guarded("asking for the revision of the index", readDeadlineMs, async () => {
      const known = await meta.read();
      const version = (await (await generations.table(known.active.id))?.version()) ?? 0;
      return [known.id, known.active.id, version, touches?.count() ?? 0].join(".");
    }),
    builds: {
      async start(name) {
        const start = guarded("starting a rebuild of the index", writeDeadlineMs, builds.start);
        return guardedFiles(await start(name));
      },
      finish: guarded("ending a rebuild of the index", writeDeadlineMs, builds.finish),
      abandon: guarded("dropping a rebuild of the index", writeDeadlineMs, builds.abandon),
    },
    ...(leases && { leases: leases.leases }),
    upkeep: {
      check: guarded("checking the index", longDeadlineMs, upkeep.check),
      repair: guarded("mending the index", longDeadlineMs, upkeep.repair),
      compact: guarded("compacting the index", longDeadlineMs, upkeep.compact),
      tables: guarded("measuring the index", longDeadlineMs, upkeep.tables),
      sample: guarded("reading from the index", readDeadlineMs, upkeep.sample),
      vectorOf: guarded("reading a vector of the index", readDeadlineMs, upkeep.vectorOf),
    },
    searchKeyword: guarded("searching the index", readDeadlineMs, (query) => searchGate(() => searchKeyword(query))),
    searchVector: guarded("searching the index", readDeadlineMs, (query) => searchGate(() => searchVector(query))),
    useSpace: vectors.useSpace,
    pendingVectors: guarded("listing texts of the index", writeDeadlineMs, vectors.pendingVectors),
    putVectors: guarded("writing vectors to the index", writeDeadlineMs, vectors.putVectors),
    knownVectors: guarded("listing vectors of the index", readDeadlineMs, vectors.knownVectors),
    spaces: guarded("listing the spaces of the index", readDeadlineMs, vectors.spaces),
    spaceStats: guarded("counting what is in the index", readDeadlineMs, vectors.spaceStats),
    quarantine: guarded("writing to the index", writeDeadlineMs, quarantine.quarantine),
    quarantined: guarded("listing texts of the index", readDeadlineMs, quarantine.quarantined),
    releaseQuarantine: guarded("writing to the index", writeDeadlineMs, quarantine.releaseQuarantine),
    probeVector: async () => true,
    stats: guarded("counting what is in the index", readDeadlineMs, stats),
    health: () => ({ ...health, notices: [...notices] }),
    close() {
      closing ??= (async () => {
        await tidy.close();
        await writes.settled();
        await Promise.all([leases?.close(), shared.close()]);
        await own.close();
        await place.close();
      })();
      return closing;
    },
  };
}

/** The tables at the place, or some in memory where an index that is not there must not be made, or it is another's. */
async function ownConnection(
  { place, mayCreate, owner, changing }: LanceStoreOptions,
  notices: string[],
): Promise<{ tables: ReturnType<typeof createTables>; isInMemory: boolean; close: () => Promise<void> }> {
  const tables = createTables(place.connection, place.tablePrefix, changing);
  const reading = createMetaTable(tables, owner);
  const meta = await place
    .within("opening the index", readDeadlineMs, undefined, () => reading.read())
    .catch((error: unknown) => {
      const failure = toStoreError(error, place.location);
      if (mayCreate || place.kind !== "folder") throw failure;
      return failure;
    });
  const reason = meta instanceof Error ? `${meta.message}; the next sync makes it anew` : whyNotUsed(meta, owner);
  if (reason === undefined && (mayCreate || !("isNew" in meta && meta.isNew)))
    return { tables, isInMemory: false, close: () => tables.close() };
  if (reason !== undefined)
    notices.push(`the index ${place.location} is not used, and this one is kept in memory: ${reason}`);
  await tables.close();
  const connection = await connect("memory://", { readConsistencyInterval: 0 });
  const inMemory = createTables(connection, "");
  return {
    tables: inMemory,
    isInMemory: reason !== undefined,
    async close() {
      await inMemory.close();
      await closeNative(connection);
    },
  };
}

/** Why an index is left alone that is at the place; undefined for one of our own. */
export function whyNotUsed(
  meta: { layout: number; owner: IndexOwner | undefined },
  owner: IndexOwner | undefined,
): string | undefined {
  if (meta.layout > layoutVersion)
    return `it was made by a later release of memslot (layout ${meta.layout}, this one knows ${layoutVersion}); bring memslot up to date`;
  if (owner && meta.owner && meta.owner.agentId !== owner.agentId)
    return `it holds the notes of the agent "${meta.owner.agentId}", not of "${owner.agentId}", and each agent has an index of its own; set dbPath to another place`;
  return undefined;
}

function withTouches(files: FileTable, touches: LocalTouches): FileTable {
  return {
    ...files,
    listFiles: async () => (await files.listFiles()).map(touches.apply),
    async replaceFiles(replaced) {
      await files.replaceFiles(replaced);
      for (const file of replaced) touches.forget(file);
    },
    async touchFiles(touched) {
      const known = new Map((await files.listFiles()).map((file) => [JSON.stringify([file.source, file.path]), file]));
      const others = touched.filter((file) => {
        const own = known.get(JSON.stringify([file.source, file.path]));
        return own === undefined || !touches.note(file, own);
      });
      await Promise.all([touches.save(), files.touchFiles(others)]);
    },
  };
}

/** Rows of one store follow each other; where those of another one begin is left to chance, out of two million places. */
function firstId(): number {
  return Math.floor(Math.random() * 2 ** 21) * 2 ** 32;
}
