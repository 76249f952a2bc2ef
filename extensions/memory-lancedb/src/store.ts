import { type CallOptions, MemoryError } from "@memslot/core";
import type { ChunkStore, StateAsked, StoreFiles, StoreStats } from "@memslot/indexing";
import pLimit from "p-limit";
import type { Run } from "./place/failures.ts";
import type { LancePlace } from "./place/open-connection.ts";
import { searchKeywords, searchWords } from "./search/keyword-search.ts";
import { TermCounts } from "./search/term-counts.ts";
import { checkVector, compareVectors, searchVectors } from "./search/vector-search.ts";
import { putFiles, takeFiles } from "./tables/write-files.ts";
import type { Build, IndexState } from "./tables/index-builds.ts";
import type { Leases } from "./tables/leases.ts";
import type { Written } from "./tables/cached-file-listing.ts";
import {
  filesTable,
  makeWordIndex,
  partOf,
  retryConflicts,
  spaceId,
  type Tables,
  VersionCache,
} from "./tables/tables.ts";
import { type CompactionSettings, createCompaction, onlyHost, optimizeTable } from "./upkeep/compaction.ts";
import { folderBytes, type FolderRepair } from "./upkeep/damage.ts";

const readMs = 60_000;
const writeMs = 300_000;
const compactMs = 3_600_000;
/** LanceDB uses all cores for one search. The limit lets writes come through between searches. */
const searchesAtOnce = 4;
/** Above this number of chunks the word index is read on demand. */
const warmedAtMost = 50_000;

interface StoreOptions {
  tables: Tables;
  state: IndexState;
  /** `memory` if the index is not at the place. */
  location: string;
  kind: LancePlace["kind"];
  folder?: string | undefined;
  leases?: Leases | undefined;
  repair?: FolderRepair | undefined;
  settings: CompactionSettings;
  run: Run;
  notices: readonly string[];
  remarks: readonly string[];
  close(): Promise<void>;
}

export function createStore(options: StoreOptions): Required<ChunkStore> {
  const { tables, state, kind, location, leases, repair, settings, run } = options;
  const isShared = kind !== "folder";
  const forget = (): void => state.forget();
  const asOnlyHost = onlyHost(leases, location);
  const inTurn = pLimit(1);
  const dropUnused = (): Promise<void> => state.dropUnusedVectors(false);
  const compaction = createCompaction({ ...settings, isShared, write, dropUnused, asOnlyHost });
  const gate = pLimit(searchesAtOnce);
  const counts = new TermCounts();
  /** In a bucket the size of a table is a request. */
  const sizes = new VersionCache<number>(20);
  let warmed: string | undefined;
  let closing: Promise<void> | undefined;

  /** Runs a write, one at a time. After a conflict, another process may have replaced a table that is open here. */
  function write<Result>(work: () => Promise<Result>): Promise<Result> {
    return inTurn(async () => {
      await leases?.prepare();
      return await retryConflicts(work, 8, forget);
    });
  }

  function call<Args extends readonly unknown[], Result>(
    what: string,
    deadlineMs: number,
    work: (...args: Args) => Promise<Result>,
    isListing = false,
  ): (...args: Args) => Promise<Result> {
    return async (...args) => {
      if (closing) throw new MemoryError("CLOSED", `the index ${location} is closed`);
      const { signal } = (args.at(-1) ?? {}) as CallOptions;
      return await run({ what, deadlineMs, signal, isListing, forget, call: () => work(...args) });
    };
  }

  function filesOf(number?: number): StoreFiles {
    const toWrite = (mayMake: boolean): Promise<Build | undefined> =>
      number === undefined ? state.buildToWrite(mayMake) : state.expectNext(number);
    const change = (mayMake: boolean, work: (build: Build) => Promise<Written | undefined>): Promise<void> =>
      write(async () => {
        const build = await toWrite(mayMake);
        const written = build && (await work(build));
        if (!written) return;
        await state.wrote(build, written);
        compaction.wrote(build.table);
      });
    const list = async (how?: StateAsked): ReturnType<StoreFiles["listFiles"]> =>
      number === undefined ? state.listFiles(how) : state.filesOf(await state.expectNext(number));

    return {
      listFiles: call("listing the files of the index", readMs, list, true),
      replaceFiles: call("writing to the index", writeMs, async (files) => {
        if (files.length === 0) return;
        await change(true, async (build) =>
          putFiles(build.table, files, isShared ? undefined : await state.listing(build)),
        );
      }),
      removeFiles: call("removing files from the index", writeMs, async (files) => {
        if (files.length > 0) await change(false, ({ table }) => takeFiles(table, files));
      }),
    };
  }

  const searchKeyword: ChunkStore["searchKeyword"] = async (query) => {
    const build = await state.buildToSearch(query.at);
    if (!build) return { rows: [], chunkCount: 0, documentFrequencies: query.terms.map(() => 0) };
    const listing = await state.listing(build);
    if (listing.hasWords) return searchWords(query, listing);
    const { version, chunkCount } = listing;
    const { number, table } = build;
    const name = filesTable(number);
    if (kind === "bucket" && chunkCount <= warmedAtMost && warmed !== `${name} ${version}`) {
      // At once it is a few requests, and word by word a few for each.
      await table.prewarmIndex("terms_idx");
      warmed = `${name} ${version}`;
    }
    return await searchKeywords(query, { table, name, version, chunkCount }, listing, counts);
  };

  const searchVector: ChunkStore["searchVector"] = async (query) => {
    checkVector(query.vector, query.space);
    const build = await state.buildToSearch(query.at);
    const opened = await tables.openSpace(spaceId(query.space), !state.isCurrent(query.at));
    if (!build || !opened) return { rows: [] };
    const listing = await state.listing(build);
    const vectors = await state.vectors.inMemory(opened);
    return vectors ? compareVectors(query, vectors, listing) : await searchVectors(query, opened.table, listing);
  };

  function search<Query, Answer>(work: (query: Query) => Promise<Answer>) {
    return call("searching the index", readMs, (query: Query, { signal }: CallOptions = {}) =>
      gate(() => {
        signal?.throwIfAborted();
        return work(query);
      }),
    );
  }

  return {
    ...filesOf(),
    revision: call("asking for the revision of the index", readMs, () => state.revision(), true),
    putVectors: call("writing vectors to the index", writeMs, async (space, entries) => {
      for (const { vector } of entries) checkVector(vector, space);
      if (entries.length > 0) await write(async () => compaction.wrote(await state.vectors.put(space, entries)));
    }),
    searchKeyword: search(searchKeyword),
    searchVector: search(searchVector),
    build: call("starting a rebuild of the index", writeMs, async (name) => {
      const { number } = await write(() => state.start(name));
      const end = (work: () => Promise<void>): (() => Promise<void>) =>
        call("ending a rebuild of the index", writeMs, () => write(work));
      return {
        ...filesOf(number),
        finish: end(() => state.finish(number)),
        abandon: end(() => state.abandon(number)),
      };
    }),
    compact: call("compacting the index", compactMs, async () => {
      const beforeBytes = await bytesOf(options, sizes);
      // Other hosts may be about to read an older version.
      const keepMs = isShared ? settings.keepVersionsMs : 0;
      await asOnlyHost(() => write(() => compact(tables, state, keepMs)), settings.othersMs);
      return { beforeBytes, afterBytes: await bytesOf(options, sizes) };
    }),
    stats: call(
      "counting what is in the index",
      readMs,
      async (how?: StateAsked): Promise<StoreStats> => {
        const build = await state.build(how?.at);
        const chunks = build ? (await state.listing(build)).chunkCount : 0;
        const [notices, remarks] = [[...options.notices], [...options.remarks]];
        return { location, chunks, bytes: await bytesOf(options, sizes), notices, remarks };
      },
      true,
    ),
    close() {
      closing ??= (async () => {
        await compaction.close();
        await inTurn(() => repair?.record()).catch(() => undefined);
        await options.close();
      })();
      return closing;
    },
  };
}

async function compact(tables: Tables, state: IndexState, keepVersionsMs: number): Promise<void> {
  await state.dropUnusedVectors(true);
  for (const name of tables.own()) {
    const table = await tables.open(name, true);
    if (table && partOf(name, "files") !== undefined) await makeWordIndex(table);
    if (table) await optimizeTable(table, keepVersionsMs);
  }
}

async function bytesOf({ tables, folder }: StoreOptions, sizes: VersionCache<number>): Promise<number> {
  if (folder !== undefined) return await folderBytes(folder);
  let bytes = 0;
  for (const name of tables.own()) {
    const table = await tables.open(name, false);
    if (table) bytes += await sizes.get(name, table, async () => (await table.stats()).totalBytes);
  }
  return bytes;
}
