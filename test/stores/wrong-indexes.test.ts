import { join } from "node:path";
import { chunkIndexConformance } from "@memslot/fakes/chunk-index";
import type {
  Chunk,
  ChunkIndex,
  FileTable,
  IndexBuilds,
  IndexLeases,
  IndexUpkeep,
  VectorSpace,
} from "@memslot/indexing";
import { openSqliteStore } from "@memslot/memory-core";
import type { TestRunner } from "@memslot/testkit";
import { expect, test } from "vitest";

/** An index that has every part that one may leave out. */
interface Index extends ChunkIndex {
  builds: IndexBuilds;
  leases: IndexLeases;
  upkeep: IndexUpkeep;
}
/** What differs from the right index. */
type Spoil = (right: Index) => Partial<Index>;

const ofLeases = (spoil: (right: IndexLeases) => Partial<IndexLeases>): Spoil => {
  return ({ leases }) => ({ leases: { ...leases, ...spoil(leases) } });
};
const ofUpkeep = (spoil: (right: IndexUpkeep) => Partial<IndexUpkeep>): Spoil => {
  return ({ upkeep }) => ({ upkeep: { ...upkeep, ...spoil(upkeep) } });
};
const ofChunks = (change: (chunk: Chunk, path: string) => Chunk): Spoil => {
  return ({ replaceFiles }) => ({
    replaceFiles: (files) =>
      replaceFiles(files.map((file) => ({ ...file, chunks: file.chunks.map((chunk) => change(chunk, file.path)) }))),
  });
};
const ofNextBuild = (spoil: (right: FileTable) => Partial<FileTable>): Spoil => {
  return ({ builds }) => ({
    builds: {
      ...builds,
      async start(name) {
        const table = await builds.start(name);
        return { ...table, ...spoil(table) };
      },
    },
  });
};
const ofSpaceStats = (change: (stats: Awaited<ReturnType<Index["spaceStats"]>>) => object): Spoil => {
  return (right) => ({
    async spaceStats(space, within) {
      const stats = await right.spaceStats(space, within);
      return { ...stats, ...change(stats) };
    },
  });
};
/** Gives the space in use in place of the one that a call names. */
const inUse = (spoil: (right: Index, used: (named: VectorSpace) => VectorSpace) => Partial<Index>): Spoil => {
  return (right) => {
    let last: VectorSpace | undefined;
    const useSpace = (space: VectorSpace): Promise<void> => right.useSpace((last = space));
    return { useSpace, ...spoil(right, (named) => last ?? named) };
  };
};

const asOneText = "texts: no text is put into another form";
const chunksListed = "files: the chunks of what is asked for are listed in their order, with their texts or without";
const nextBuild = "builds: the table of a build replaces, touches, removes and takes tails as the store does";
const quarantineListed =
  "vector: a quarantined text is not pending, is found by its words, and is listed with every place it stands at";

/** Faults of one call, each with the check that must notice it. */
const wrong: readonly [fault: string, check: string, Spoil][] = [
  [
    "rounds modification times",
    "files: the facts of a file come back as they were given",
    (right) => ({
      listFiles: async () => (await right.listFiles()).map((file) => ({ ...file, mtimeMs: Math.floor(file.mtimeMs) })),
    }),
  ],
  [
    "adds files when they are touched",
    "files: touching a file that is not there adds none",
    (right) => ({ touchFiles: (files) => right.replaceFiles(files.map((file) => ({ ...file, chunks: [] }))) }),
  ],
  ["touches no file", "revision: a touched file gives another one", () => ({ touchFiles: async () => undefined })],
  [
    "forgets cursors",
    "files: a cursor is kept as it was given, replaced with the file, and gone when the file has none",
    (right) => ({ listFiles: async () => (await right.listFiles()).map(({ cursor: _cursor, ...file }) => file) }),
  ],
  [
    "lists the texts of all chunks, always",
    chunksListed,
    (right) => ({ listChunks: (asked) => right.listChunks({ ...asked, withText: true }) }),
  ],
  [
    "lists chunks outside of the scope",
    chunksListed,
    (right) => ({ listChunks: ({ scope: _scope, ...asked }) => right.listChunks(asked) }),
  ],
  [
    "gives its database away in health",
    "lifecycle: health is plain data that says where the store is",
    (right) => ({ health: () => ({ ...right.health(), database: new Map() }) }),
  ],
  [
    "cuts texts at 8 kB",
    "texts: a long text comes back whole",
    ofChunks((chunk) => ({ ...chunk, text: chunk.text.slice(0, 8192) })),
  ],
  ["composes accents", asOneText, ofChunks((chunk) => ({ ...chunk, text: chunk.text.normalize("NFC") }))],
  ["trims texts", asOneText, ofChunks((chunk) => ({ ...chunk, text: chunk.text.trim() }))],
  [
    "gives another revision each time",
    "revision: searches, listings and vectors leave it as it is",
    () => ({ revision: async () => String(performance.now()) }),
  ],
  [
    "names vectors by the file",
    "vector: a file that is renamed or moved to another source needs no new vector",
    ofChunks((chunk, path) => ({ ...chunk, hash: `${path} ${chunk.hash}` })),
  ],
  [
    "lists a pending hash once for each chunk",
    "vector: chunks without a vector are pending, each hash once, until they have one",
    (right) => ({
      async pendingVectors(space, limit) {
        const pending = await right.pendingVectors(space, limit);
        return [...pending, ...pending];
      },
    }),
  ],
  [
    "gives rows without their text",
    "vector: a row carries its chunk as it was given",
    (right) => ({
      async searchVector(query) {
        return { rows: (await right.searchVector(query)).rows.map((row) => ({ ...row, text: "" })) };
      },
    }),
  ],
  [
    "says that its vector search does not work",
    "vector: the probe says that the leg works",
    () => ({ probeVector: async () => false }),
  ],
  [
    "searches the space in use, whatever the query names",
    "vector: two spaces of one width never mix, whichever of them is in use",
    inUse((right, used) => ({ searchVector: (query) => right.searchVector({ ...query, space: used(query.space) }) })),
  ],
  [
    "says what is pending in the space in use",
    "vector: what is pending is pending in each space by itself",
    inUse((right, used) => ({ pendingVectors: (space, limit) => right.pendingVectors(used(space), limit) })),
  ],
  [
    "wants useSpace before anything else",
    "vector: every call works in a space that nobody has used",
    () => ({ spaceStats: () => Promise.reject(new Error("no such table: chunks_vec")) }),
  ],
  [
    "looks at no more hashes than its engine takes parameters",
    "vector: of many hashes those are known that have a vector in the space",
    (right) => ({ knownVectors: (space, hashes) => right.knownVectors(space, hashes.slice(0, 500)) }),
  ],
  [
    "lists spaces in the order in which they came",
    "vector: the spaces are listed with their vectors, the one that was written to last first",
    (right) => ({ spaces: async () => (await right.spaces()).toReversed() }),
  ],
  [
    "counts vectors of the whole index where a scope is given",
    "vector: with a scope, chunks are counted within it",
    (right) => ({ spaceStats: (space) => right.spaceStats(space) }),
  ],
  [
    "lists a quarantined text once",
    quarantineListed,
    (right) => ({
      async quarantined(space, limit) {
        const refused = await right.quarantined(space, limit);
        return [...new Map(refused.map((chunk) => [chunk.hash, chunk])).values()];
      },
    }),
  ],
  [
    "lists quarantined chunks in the order of their hashes",
    "vector: quarantined chunks come in the order of their paths and lines",
    (right) => ({
      async quarantined(space, limit) {
        return (await right.quarantined(space, limit)).toSorted((a, b) => (a.hash < b.hash ? -1 : 1));
      },
    }),
  ],
  [
    "releases nothing",
    "vector: released texts are pending again",
    () => ({ releaseQuarantine: async () => undefined }),
  ],
  [
    "forgets quarantined texts when their file is replaced",
    "vector: quarantine is forgotten for texts that are gone or changed, and kept for those that stay",
    (right) => ({
      async replaceFiles(files) {
        await right.removeFiles(files);
        await right.replaceFiles(files);
      },
    }),
  ],
  [
    "counts quarantined chunks as pending too",
    "vector: embedded, pending and quarantined chunks are all the chunks there are",
    ofSpaceStats(({ pending, quarantined }) => ({ pending: pending + quarantined })),
  ],
  [
    "counts what the next build wants as pending",
    "vector: pending texts are those of both builds, each hash once, and are counted apart",
    ofSpaceStats(({ pending, nextPending = 0 }) => ({ pending: pending + nextPending })),
  ],
  ["touches no file of the next build", nextBuild, ofNextBuild(() => ({ touchFiles: async () => undefined }))],
  [
    "takes tails for whole files in the next build",
    nextBuild,
    ofNextBuild(({ replaceFiles }) => ({
      replaceFiles: (files) => replaceFiles(files.map((file) => ({ ...file, fromLine: undefined }))),
    })),
  ],
  [
    "says nothing of builds",
    "builds: stats say which build answers and how far the next one is",
    (right) => ({ stats: async () => ({ ...(await right.stats()), generation: undefined }) }),
  ],
  [
    "names no holder",
    "leases: one that is free is given, has a holder, and is free again after release",
    ofLeases(() => ({ holder: async () => undefined })),
  ],
  [
    "gives a lease that another one holds",
    "leases: what one store holds, another one on the same place is refused, until it is released",
    ofLeases(() => ({ acquire: async () => true })),
  ],
  [
    "gives a lease to each of many",
    "leases: of many that ask at once one gets it",
    ofLeases(() => ({ acquire: async () => true })),
  ],
  [
    "has one lease under two names",
    "leases: each is given by itself",
    ofLeases(({ acquire }) => ({ acquire: (_name, reason) => acquire("build", reason) })),
  ],
  [
    "keeps progress to itself",
    "leases: how far the holder of the build is, another store can read",
    ofLeases(() => ({ report: async () => undefined })),
  ],
  [
    "answers no search while another one works on the files",
    "leases: searches need none",
    (right) => ({
      async searchKeyword(query) {
        if (await right.leases.holder("files")) throw new Error("database is locked");
        return await right.searchKeyword(query);
      },
    }),
  ],
  [
    "looks at nothing in a check",
    "upkeep: a healthy index passes its own check, empty, in use, and while a build is being made",
    ofUpkeep(() => ({ check: async () => [] })),
  ],
  [
    "repairs what is whole",
    "upkeep: repair mends nothing on a healthy index and changes no answer",
    ofUpkeep(() => ({ repair: async () => [{ name: "words", ok: true, message: "fine", fixed: "made anew" }] })),
  ],
  [
    "grows when it is compacted",
    "upkeep: compact gives space back, changes no answer, and leaves the index fit for use",
    ofUpkeep(() => ({ compact: async () => ({ beforeBytes: 1, afterBytes: 2 }) })),
  ],
  [
    "has no sample",
    "upkeep: a sample is of chunks that are there, each once, and no more than there are",
    ofUpkeep(() => ({ sample: async () => [] })),
  ],
  [
    "always samples the same chunks",
    "upkeep: a small sample is another one each time, so that every chunk has its turn",
    ofUpkeep(({ sample }) => ({
      sample: async (count) => (await sample(1000)).toSorted((a, b) => Number(a.id) - Number(b.id)).slice(0, count),
    })),
  ],
  [
    "gives vectors that are rounded away",
    "vector: the vector of a text can be had again, of its own space",
    ofUpkeep((right) => ({
      async vectorOf(space, hash) {
        return (await right.vectorOf(space, hash))?.map((value) => Math.round(value * 3) / 3);
      },
    })),
  ],
  [
    "lists no tables",
    "upkeep: tables are listed with their bytes, the largest first",
    ofUpkeep(() => ({ tables: async () => [] })),
  ],
];

/** What a suite registers, by name. */
function collected(open: (stateDir: string) => Promise<ChunkIndex>): Map<string, Parameters<TestRunner["test"]>[2]> {
  const checks = new Map<string, Parameters<TestRunner["test"]>[2]>();
  const runner: TestRunner = {
    describe: (_name, body) => body(),
    test: (name, _options, body) => void checks.set(name, body),
  };
  chunkIndexConformance(runner, { open, reopens: true });
  return checks;
}

test.each(wrong)("an index that %s fails the check of it: %s", async (_fault, check, spoil) => {
  const open = async (stateDir: string): Promise<ChunkIndex> => {
    const places = { path: join(stateDir, "main.sqlite"), locksDir: join(stateDir, "locks") };
    const right = (await openSqliteStore({ ...places, vector: { enabled: true }, cacheMaxEntries: 1000 })) as Index;
    return { ...right, ...spoil(right) };
  };
  const body = collected(open).get(check) ?? expect.fail(`there is no check named "${check}"`);
  let isSkipped = false;
  const run = async (): Promise<unknown> => body({ skip: () => (isSkipped = true) });
  const outcome = await run().then(
    () => "passed",
    () => "failed",
  );
  expect([outcome, isSkipped]).toEqual(["failed", false]);
});
