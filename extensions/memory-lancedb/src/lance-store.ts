import pLimit from "p-limit";
import { MemoryError } from "@memslot/core";
import type { ChunkStore, KeywordAnswer, StoreFiles, StoreStats, VectorAnswer } from "@memslot/indexing";
import { type LancePlace, layoutVersion } from "./place/place.ts";
import { searchKeywords } from "./search/keyword-search.ts";
import { TermCounts } from "./search/term-counts.ts";
import { checkVector, compareVectors, searchVectors } from "./search/vector-search.ts";
import { searchWords } from "./search/word-search.ts";
import type { Run } from "./run.ts";
import { isConflict } from "./store-failure.ts";
import type { Build, Builds } from "./tables/builds.ts";
import { putFiles, takeFiles, type Written } from "./tables/files.ts";
import { type Listing, Listings } from "./tables/listing.ts";
import { Spaces } from "./tables/spaces.ts";
import { filesTable, layoutOf, makeWordIndex, spaceId, type Tables } from "./tables/tables.ts";
import { createWriteQueue } from "./tables/writes.ts";
import { createTidy, folderBytes, optimizeTable, type TidySettings } from "./upkeep/tidy.ts";

/** LanceDB uses all cores for one. */
const searchesAtOnce = 4;
const readDeadlineMs = 60_000;
const writeDeadlineMs = 300_000;
const longDeadlineMs = 3_600_000;
/** Calls whose answer tells what is lost. */
const listingCalls: ReadonlySet<string> = new Set([
  "listing the files of the index",
  "asking for the revision of the index",
  "counting what is in the index",
]);
/** Of more chunks the index of their words is read piece by piece, as words are asked for. */
const warmedAtMost = 50_000;

export interface LanceStoreOptions {
  tables: Tables;
  builds: Builds;
  /** `memory` where the index is not at the place. */
  place: Pick<LancePlace, "kind" | "location" | "folder">;
  tidying: TidySettings;
  /** What every call goes through: deadlines, and what is said of a failure. */
  run: Run;
  /** Runs what writes or deletes files. */
  changing: <Result>(work: () => Promise<Result>) => Promise<Result>;
  notices: readonly string[];
  close: () => Promise<void>;
}

/** A store on tables of LanceDB, and a way to forget what it knows of them. */
export interface LanceStore extends Required<ChunkStore> {
  forget(): void;
}

/** `@lancedb/lancedb` is loaded. */
export function createLanceStore(options: LanceStoreOptions): LanceStore {
  const { tables, builds, place, run, changing } = options;
  const isShared = place.kind !== "folder";
  const listings = new Listings(isShared);
  const spaces = new Spaces(tables, isShared);
  const counts = new TermCounts();
  const writes = createWriteQueue();
  const tidy = createTidy(options.tidying, write, () => dropUnused(false));
  // However many search at once, a write comes through between them.
  const searchGate = pLimit(searchesAtOnce);
  /** Which index the caller has been told of. Another one in its place holds other files. */
  let told: string | undefined;
  let warmed: string | undefined;
  let closing: Promise<void> | undefined;

  function write<Result>(work: () => Promise<Result>): Promise<Result> {
    const anew = async (): Promise<Result> => {
      try {
        return await work();
      } catch (error) {
        // It may be another table by now, which two have made at once: what is open of it would meet it for ever.
        if (isConflict(error)) forget();
        throw error;
      }
    };
    return writes.run(() => changing(anew));
  }

  function listingOf({ number, table }: Build): Promise<Listing> {
    return listings.of(filesTable(number), table);
  }

  /** Nobody is given less than there was without a word. */
  function expectTold(build: Build | undefined): void {
    const index = build?.facts.index ?? "none";
    if (told !== undefined && told !== "none" && told !== index)
      throw new MemoryError(
        "UNAVAILABLE",
        `the index ${place.location} was deleted or begun anew; bring it up to date with \`memslot memory index\``,
      );
  }

  function tell(build: Build | undefined): void {
    told = build?.facts.index ?? "none";
  }

  async function putInto(build: Build, work: Promise<Written | undefined>): Promise<void> {
    const written = await work;
    if (!written) return;
    listings.follow(filesTable(build.number), written.version, written.changes);
    tidy.wrote(build.table);
    // Not before: what another host has made at the same moment may have taken its place.
    if (build.facts.next === undefined && (told === undefined || told === "none")) tell(build);
  }

  async function listed(build: Build | undefined): ReturnType<StoreFiles["listFiles"]> {
    if (!build) return [];
    const { files } = await listingOf(build);
    // On this machine nobody else embeds what lies here.
    if (!isShared) return Array.from(files.values(), ({ chunks: _chunks, ...file }) => file);
    return await spaces.embedded([...files.values()], spaces.ids(builds.spaces()), !builds.wasLooked("spaces"));
  }

  /** `toWrite` makes a build that is not there, where it may. */
  function filesOf(
    toRead: () => Promise<Build | undefined>,
    toWrite: (mayMake: boolean) => Promise<Build | undefined>,
  ): StoreFiles {
    return {
      listFiles: guarded("listing the files of the index", readDeadlineMs, async () => await listed(await toRead())),
      replaceFiles: guarded("writing to the index", writeDeadlineMs, async (files) => {
        if (files.length === 0) return;
        await write(async () => {
          const build = await toWrite(true);
          if (!build) return;
          const known = isShared ? undefined : await listingOf(build);
          await putInto(build, putFiles(build, files, known));
        });
      }),
      removeFiles: guarded("removing files from the index", writeDeadlineMs, async (files) => {
        if (files.length === 0) return;
        await write(async () => {
          const build = await toWrite(false);
          if (build) await putInto(build, takeFiles(build, files));
        });
      }),
    };
  }

  async function toRead(): Promise<Build | undefined> {
    const active = builds.wasLooked("files") ? await builds.latest() : (await builds.find()).active;
    tell(active);
    return active;
  }

  async function toWrite(mayMake: boolean): Promise<Build | undefined> {
    const { active, next } = await builds.tidied();
    expectTold(active);
    return active ?? (mayMake ? await builds.makeFirst(next) : undefined);
  }

  async function searchKeyword(query: Parameters<ChunkStore["searchKeyword"]>[0]): Promise<KeywordAnswer> {
    const build = await builds.lookFor("keyword");
    expectTold(build);
    if (!build) return { rows: [], chunkCount: 0, documentFrequencies: query.terms.map(() => 0) };
    const { number, table } = build;
    const listing = await listingOf(build);
    const { version, chunkCount } = listing;
    if (listing.hasWords) return searchWords(query, listing);
    const name = filesTable(number);
    if (place.kind === "bucket" && chunkCount <= warmedAtMost && warmed !== `${name} ${version}`) {
      // Read at once it is a few requests, and word by word it is a few for each.
      await table.prewarmIndex("terms_idx");
      warmed = `${name} ${version}`;
    }
    return await searchKeywords(query, { table, name, version, chunkCount }, listing, counts);
  }

  async function searchVector(query: Parameters<ChunkStore["searchVector"]>[0]): Promise<VectorAnswer> {
    checkVector(query.vector, query.space);
    const build = await builds.lookFor("vector");
    expectTold(build);
    const opened = await tables.openSpace(spaceId(query.space), !builds.wasLooked("space"));
    if (!build || !opened) return { rows: [] };
    spaces.see(spaceId(query.space));
    const listing = await listingOf(build);
    const vectors = await spaces.inMemory(spaceId(query.space), opened);
    return vectors ? compareVectors(query, vectors, listing) : await searchVectors(query, opened.table, listing);
  }

  async function dropUnused(all: boolean): Promise<void> {
    const { active, next } = await builds.tidied();
    const used: ReadonlyMap<string, unknown>[] = [];
    for (const build of [active, next]) if (build) used.push((await listingOf(build)).byHash());
    await spaces.dropUnused(spaces.ids(builds.spaces()), used, all);
  }

  async function allBytes(): Promise<number> {
    if (place.folder !== undefined) return await folderBytes(place.folder);
    let bytes = 0;
    const own = (await builds.names()).filter((name) => layoutOf(name) === layoutVersion);
    for (const name of own) bytes += (await (await tables.open(name, false))?.stats())?.totalBytes ?? 0;
    return bytes;
  }

  async function ownTables(): Promise<string[]> {
    return (await tables.names()).filter((name) => layoutOf(name) === layoutVersion);
  }

  /** Turns failures into what a caller can act on. What another process has deleted under a reader is read anew. */
  function guarded<Args extends readonly unknown[], Result>(
    what: string,
    deadlineMs: number,
    call: (...args: Args) => Promise<Result>,
  ): (...args: Args) => Promise<Result> {
    return async (...args) => {
      if (closing) throw new MemoryError("CLOSED", `the index ${place.location} is closed`);
      return await run({ what, deadlineMs, isListing: listingCalls.has(what), forget, call: () => call(...args) });
    };
  }

  function forget(): void {
    builds.forget();
    listings.forget();
    spaces.forget();
  }

  return {
    ...filesOf(toRead, toWrite),
    revision: guarded("asking for the revision of the index", readDeadlineMs, async () => {
      const build = await builds.look();
      const versions = await spaces.versions(spaces.ids(builds.spaces()));
      builds.lookedAtAll();
      tell(build);
      if (!build) return "none";
      return [build.facts.index, build.number, await build.table.version(), ...versions].join(".");
    }),
    putVectors: guarded("writing vectors to the index", writeDeadlineMs, async (space, entries) => {
      for (const { vector } of entries) checkVector(vector, space);
      if (entries.length > 0) await write(async () => tidy.wrote(await spaces.put(space, entries)));
    }),
    searchKeyword: guarded("searching the index", readDeadlineMs, (query) => searchGate(() => searchKeyword(query))),
    searchVector: guarded("searching the index", readDeadlineMs, (query) => searchGate(() => searchVector(query))),
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
      const beforeBytes = await allBytes();
      await write(async () => {
        await dropUnused(true);
        for (const name of await ownTables()) {
          const table = await tables.open(name, true);
          if (table && name.startsWith(filesTable(0).slice(0, -1))) await makeWordIndex(table);
          // Elsewhere others have it open, and what they are about to read must stay.
          if (table) await optimizeTable(table, isShared ? options.tidying.keepVersionsMs : 0);
        }
      });
      return { beforeBytes, afterBytes: await allBytes() };
    }),
    stats: guarded("counting what is in the index", readDeadlineMs, async (): Promise<StoreStats> => {
      const build = await builds.lookFor("files");
      const chunks = build ? (await listingOf(build)).chunkCount : 0;
      return { location: place.location, chunks, bytes: await allBytes(), notices: [...options.notices] };
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
