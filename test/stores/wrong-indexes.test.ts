import { readFileSync } from "node:fs";
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

/** An index that has every optional part. */
interface Index extends ChunkIndex {
  builds: IndexBuilds;
  leases: IndexLeases;
  upkeep: IndexUpkeep;
}
/** What differs from the right index. */
type Spoil = (right: Index) => object;
type Call<Name extends keyof Index> = Index[Name] extends (...given: never[]) => Promise<infer Answer> ? Answer : never;

/** Changes the answer of one call. */
const after = <Name extends keyof Index>(name: Name, change: (answer: Call<Name>) => unknown): Spoil => {
  return (right) => {
    const call = right[name] as (...given: unknown[]) => Promise<Call<Name>>;
    return { [name]: async (...given: unknown[]) => change(await call(...given)) };
  };
};
/** Replaces some calls of one part. */
const inPart = <Name extends "leases" | "upkeep">(name: Name, spoil: (right: Index[Name]) => object): Spoil => {
  return (right) => ({ [name]: { ...right[name], ...spoil(right[name]) } });
};
const nothing = { touchFiles: async () => undefined };
const ofChunks = (change: (chunk: Chunk, path: string) => Chunk): Spoil => {
  return ({ replaceFiles }) => ({
    replaceFiles: (files: Parameters<Index["replaceFiles"]>[0]) =>
      replaceFiles(files.map((file) => ({ ...file, chunks: file.chunks.map((chunk) => change(chunk, file.path)) }))),
  });
};
const ofNextBuild = (spoil: (right: FileTable) => Partial<FileTable>): Spoil => {
  return ({ builds }) => {
    const start: IndexBuilds["start"] = async (name) => {
      const table = await builds.start(name);
      return { ...table, ...spoil(table) };
    };
    return { builds: { ...builds, start } };
  };
};
/** Gives the space in use in place of the one that a call names. */
const inUse = (spoil: (right: Index, used: (named: VectorSpace) => VectorSpace) => Partial<Index>): Spoil => {
  return (right) => {
    let last: VectorSpace | undefined;
    const useSpace = (space: VectorSpace): Promise<void> => right.useSpace((last = space));
    return { useSpace, ...spoil(right, (named) => last ?? named) };
  };
};
const typed = (spoil: (right: Index) => Partial<Index>): Spoil => spoil;

/** Faults of one call. `data/wrong-indexes.json` names the check that must notice each. */
const wrong: Readonly<Record<string, Spoil>> = {
  "rounds modification times": after("listFiles", (files) =>
    files.map((file) => ({ ...file, mtimeMs: Math.floor(file.mtimeMs) })),
  ),
  "adds files when they are touched": typed((right) => ({
    touchFiles: (files) => right.replaceFiles(files.map((file) => ({ ...file, chunks: [] }))),
  })),
  "touches no file": () => nothing,
  "forgets cursors": after("listFiles", (files) => files.map(({ cursor: _cursor, ...file }) => file)),
  "lists the texts of all chunks, always": typed((right) => ({
    listChunks: (asked) => right.listChunks({ ...asked, withText: true }),
  })),
  "lists chunks outside of the scope": typed((right) => ({
    listChunks: ({ scope: _scope, ...asked }) => right.listChunks(asked),
  })),
  "gives its database away in health": (right) => ({ health: () => ({ ...right.health(), database: new Map() }) }),
  "cuts texts at 8 kB": ofChunks((chunk) => ({ ...chunk, text: chunk.text.slice(0, 8192) })),
  "composes accents": ofChunks((chunk) => ({ ...chunk, text: chunk.text.normalize("NFC") })),
  "trims texts": ofChunks((chunk) => ({ ...chunk, text: chunk.text.trim() })),
  "gives another revision each time": () => ({ revision: async () => String(performance.now()) }),
  "names vectors by the file": ofChunks((chunk, path) => ({ ...chunk, hash: `${path} ${chunk.hash}` })),
  "lists a pending hash once for each chunk": after("pendingVectors", (pending) => [...pending, ...pending]),
  "gives rows without their text": after("searchVector", ({ rows }) => ({
    rows: rows.map((row) => ({ ...row, text: "" })),
  })),
  "says that its vector search does not work": () => ({ probeVector: async () => false }),
  "searches the space in use, whatever the query names": inUse((right, used) => ({
    searchVector: (query) => right.searchVector({ ...query, space: used(query.space) }),
  })),
  "says what is pending in the space in use": inUse((right, used) => ({
    pendingVectors: (space, limit) => right.pendingVectors(used(space), limit),
  })),
  "wants useSpace before anything else": () => ({
    spaceStats: () => Promise.reject(new Error("no such table: chunks_vec")),
  }),
  "looks at no more hashes than its engine takes parameters": typed((right) => ({
    knownVectors: (space, hashes) => right.knownVectors(space, hashes.slice(0, 500)),
  })),
  "lists spaces in the order in which they came": after("spaces", (spaces) => spaces.toReversed()),
  "counts vectors of the whole index where a scope is given": typed((right) => ({
    spaceStats: (space) => right.spaceStats(space),
  })),
  "lists a quarantined text once": after("quarantined", (refused) => [
    ...new Map(refused.map((chunk) => [chunk.hash, chunk])).values(),
  ]),
  "lists quarantined chunks in the order of their hashes": after("quarantined", (refused) =>
    refused.toSorted((a, b) => (a.hash < b.hash ? -1 : 1)),
  ),
  "releases nothing": () => ({ releaseQuarantine: async () => undefined }),
  "forgets quarantined texts when their file is replaced": typed((right) => ({
    replaceFiles: (files) => right.removeFiles(files).then(() => right.replaceFiles(files)),
  })),
  "counts quarantined chunks as pending too": after("spaceStats", (stats) => ({
    ...stats,
    pending: stats.pending + stats.quarantined,
  })),
  "counts what the next build wants as pending": after("spaceStats", ({ pending, nextPending = 0, ...stats }) => ({
    ...stats,
    nextPending,
    pending: pending + nextPending,
  })),
  "touches no file of the next build": ofNextBuild(() => nothing),
  "takes tails for whole files in the next build": ofNextBuild(({ replaceFiles }) => ({
    replaceFiles: (files) => replaceFiles(files.map((file) => ({ ...file, fromLine: undefined }))),
  })),
  "says nothing of builds": after("stats", (stats) => ({ ...stats, generation: undefined })),
  "names no holder": inPart("leases", () => ({ holder: async () => undefined })),
  "gives a lease that another one holds": inPart("leases", () => ({ acquire: async () => true })),
  "gives a lease to each of many": inPart("leases", () => ({ acquire: async () => true })),
  "has one lease under two names": inPart("leases", ({ acquire }) => ({
    acquire: (_name: string, reason: string) => acquire("build", reason),
  })),
  "keeps progress to itself": inPart("leases", () => ({ report: async () => undefined })),
  "answers no search while another one works on the files": typed((right) => ({
    async searchKeyword(query) {
      if (await right.leases.holder("files")) throw new Error("database is locked");
      return await right.searchKeyword(query);
    },
  })),
  "looks at nothing in a check": inPart("upkeep", () => ({ check: async () => [] })),
  "repairs what is whole": inPart("upkeep", () => ({
    repair: async () => [{ name: "words", ok: true, message: "fine", fixed: "made anew" }],
  })),
  "grows when it is compacted": inPart("upkeep", () => ({ compact: async () => ({ beforeBytes: 1, afterBytes: 2 }) })),
  "has no sample": inPart("upkeep", () => ({ sample: async () => [] })),
  "always samples the same chunks": inPart("upkeep", ({ sample }) => ({
    sample: async (count: number) =>
      (await sample(1000)).toSorted((a, b) => Number(a.id) - Number(b.id)).slice(0, count),
  })),
  "gives vectors that are rounded away": inPart("upkeep", (right) => ({
    vectorOf: async (...given: Parameters<IndexUpkeep["vectorOf"]>) =>
      (await right.vectorOf(...given))?.map((value) => Math.round(value * 3) / 3),
  })),
  "lists no tables": inPart("upkeep", () => ({ tables: async () => [] })),
};
const checkOf = Object.entries(
  JSON.parse(readFileSync(join(import.meta.dirname, "../data/wrong-indexes.json"), "utf8")) as Record<string, string>,
);

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

test.each(checkOf)("an index that %s fails the check of it: %s", async (fault, check) => {
  const spoil = wrong[fault] ?? expect.fail(`there is no fault "${fault}"`);
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
