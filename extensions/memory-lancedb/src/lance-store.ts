import type { Table } from "@lancedb/lancedb";
import { type CallOptions, MemoryError } from "@memslot/core";
import type { ChunkStore, StateAsked, StoreFiles, StoreStats } from "@memslot/indexing";
import { type LancePlace, layoutVersion, type Run } from "./place/place.ts";
import { checkVector } from "./search/vector-search.ts";
import { createSearches } from "./search/searches.ts";
import type { Build, Builds } from "./tables/builds.ts";
import { putFiles, takeFiles, type Written } from "./tables/files.ts";
import { Known } from "./tables/known.ts";
import { filesTable, layoutOf, makeWordIndex, type Tables } from "./tables/tables.ts";
import { createWriteQueue } from "./lance/writes.ts";
import { onlyHost, createTidy, folderBytes, optimizeTable, type TidySettings } from "./upkeep/tidy.ts";

const readDeadlineMs = 60_000;
const writeDeadlineMs = 300_000;
const longDeadlineMs = 3_600_000;
/** Calls whose answer tells what is lost. */
const listingCalls: ReadonlySet<string> = new Set([
  "listing the files of the index",
  "asking for the revision of the index",
  "counting what is in the index",
]);

export interface LanceStoreOptions {
  tables: Tables;
  builds: Builds;
  /** `memory` where the index is not at the place. */
  place: Pick<LancePlace, "kind" | "location" | "folder" | "leases">;
  tidying: TidySettings;
  /** What every call goes through: deadlines, and what is said of a failure. */
  run: Run;
  /** Runs what writes or deletes files. */
  changing: <Result>(work: () => Promise<Result>) => Promise<Result>;
  notices: readonly string[];
  /** For a status. */
  remarks: readonly string[];
  close: () => Promise<void>;
}

/** A store on tables of LanceDB, and a way to forget what it knows of them. */
export interface LanceStore extends Required<ChunkStore> {
  forget(): void;
}

/** `@lancedb/lancedb` is loaded. */
export function createLanceStore(options: LanceStoreOptions): LanceStore {
  const { tables, builds, place, run, changing } = options;
  const known = new Known(tables, builds, place);
  const searches = createSearches(tables, known, place.kind);
  const forget = (): void => known.forget();
  const writes = createWriteQueue(forget);
  const asOnlyHost = onlyHost(place);
  const tidy = createTidy(options.tidying, {
    run: write,
    first: () => known.dropUnused(false),
    asOnlyHost,
  });
  let closing: Promise<void> | undefined;

  function write<Result>(work: () => Promise<Result>): Promise<Result> {
    return writes.run(() => changing(work));
  }

  /** `toWrite` makes a build that is not there, where it may. */
  function filesOf(
    toRead: (how?: StateAsked) => Promise<Build | undefined>,
    toWrite: (mayMake: boolean) => Promise<Build | undefined>,
  ): StoreFiles {
    async function change(mayMake: boolean, work: (build: Build) => Promise<Written | undefined>): Promise<void> {
      const build = await toWrite(mayMake);
      const written = build && (await work(build));
      if (!written) return;
      known.wrote(build, written);
      tidy.wrote(build.table);
    }

    return {
      listFiles: guarded("listing the files of the index", readDeadlineMs, async (how?: StateAsked) =>
        known.files(await toRead(how), how),
      ),
      replaceFiles: guarded("writing to the index", writeDeadlineMs, async (files) => {
        const put = async (build: Build): Promise<Written> =>
          putFiles(build, files, known.isShared ? undefined : await known.listing(build));
        if (files.length > 0) await write(() => change(true, put));
      }),
      removeFiles: guarded("removing files from the index", writeDeadlineMs, async (files) => {
        if (files.length > 0) await write(() => change(false, (build) => takeFiles(build, files)));
      }),
    };
  }

  /** Turns failures into what a caller can act on. What another process has deleted under a reader is read anew. */
  function guarded<Args extends readonly unknown[], Result>(
    what: string,
    deadlineMs: number,
    call: (...args: Args) => Promise<Result>,
  ): (...args: Args) => Promise<Result> {
    return async (...args) => {
      if (closing) throw new MemoryError("CLOSED", `the index ${place.location} is closed`);
      // The last argument of every call may carry it.
      const { signal } = (args.at(-1) ?? {}) as CallOptions;
      const isListing = listingCalls.has(what);
      return await run({ what, deadlineMs, signal, isListing, forget, call: () => call(...args) });
    };
  }

  return {
    ...filesOf(
      (how) => known.toRead(how),
      (mayMake) => known.toWrite(mayMake),
    ),
    revision: guarded("asking for the revision of the index", readDeadlineMs, () => known.revision()),
    putVectors: guarded("writing vectors to the index", writeDeadlineMs, async (space, entries) => {
      for (const { vector } of entries) checkVector(vector, space);
      if (entries.length > 0) await write(async () => tidy.wrote(await known.spaces.put(space, entries)));
    }),
    searchKeyword: guarded("searching the index", readDeadlineMs, searches.searchKeyword),
    searchVector: guarded("searching the index", readDeadlineMs, searches.searchVector),
    build: guarded("starting a rebuild of the index", writeDeadlineMs, async (name) => {
      const { number } = await write(() => builds.start(name));
      const next = (): Promise<Build> => builds.expectNext(number);
      const end = (work: () => Promise<void>): (() => Promise<void>) =>
        guarded("ending a rebuild of the index", writeDeadlineMs, () => write(work));
      return {
        ...filesOf(next, next),
        finish: end(() => builds.finish(number)),
        abandon: end(() => builds.abandon(number)),
      };
    }),
    compact: guarded("compacting the index", longDeadlineMs, async () => {
      const beforeBytes = await bytesOf(options);
      // Elsewhere others have it open, and what they are about to read must stay.
      const keepMs = known.isShared ? options.tidying.keepVersionsMs : 0;
      await asOnlyHost(() => write(() => compact(tables, known, keepMs)), options.tidying.othersMs);
      return { beforeBytes, afterBytes: await bytesOf(options) };
    }),
    stats: guarded("counting what is in the index", readDeadlineMs, async (how?: StateAsked): Promise<StoreStats> => {
      const build = await builds.at(how?.at);
      const chunks = build ? (await known.listing(build)).chunkCount : 0;
      return {
        location: place.location,
        chunks,
        bytes: await bytesOf(options),
        notices: [...options.notices],
        remarks: [...options.remarks],
      };
    }),
    forget,
    close() {
      closing ??= (async () => {
        await tidy.close();
        await writes.settled();
        await tables.close();
        await options.close();
      })();
      return closing;
    },
  };
}

/** Leaves nothing that is not needed, and versions that are younger than this. Within a write. */
async function compact(tables: Tables, known: Known, keepVersionsMs: number): Promise<void> {
  await known.dropUnused(true);
  for (const name of ownTables(await tables.names())) {
    const table = await tables.open(name, true);
    if (table && name.startsWith(filesTable(0).slice(0, -1))) await makeWordIndex(table);
    if (table) await optimizeTable(table, keepVersionsMs);
  }
}

/** Where the size of a table costs a request, it is asked for once for each version. */
const bytesOfTables = new WeakMap<Table, { version: number; bytes: number }>();

async function bytesOf({ tables, builds, place }: LanceStoreOptions): Promise<number> {
  if (place.folder !== undefined) return await folderBytes(place.folder);
  let bytes = 0;
  for (const name of ownTables(await builds.names())) {
    const table = await tables.open(name, false);
    const version = (await table?.version()) ?? 0;
    const known = table && bytesOfTables.get(table);
    const own = known?.version === version ? known : { version, bytes: (await table?.stats())?.totalBytes ?? 0 };
    if (table) bytesOfTables.set(table, own);
    bytes += own.bytes;
  }
  return bytes;
}

function ownTables(names: readonly string[]): string[] {
  return names.filter((name) => layoutOf(name) === layoutVersion);
}
