import type { ChunkIndex, IndexedFile } from "@memslot/indexing";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import {
  edit,
  embedAll,
  fileOf,
  find,
  near,
  open,
  pendingTexts,
  sha256,
  spaceOf,
  tempPath,
  openHere,
  vectorOf,
  words,
} from "../test/stores.ts";

const space = spaceOf("m", 16);
const off = { enabled: false };

function builds(store: ChunkIndex): NonNullable<ChunkIndex["builds"]> {
  if (!store.builds) throw new Error("the store has no builds");
  return store.builds;
}

async function revisionOf(store: ChunkIndex): Promise<string> {
  return (await store.revision?.()) ?? "none";
}

/** The store on this thread, so that nothing happens between two calls. */
function manyFiles(prefix: string, count: number): IndexedFile[] {
  return Array.from({ length: count }, (_, index) =>
    fileOf(`${index}.md`, [`${prefix} ${index} one`, `${prefix} ${index} two`, `${prefix} ${index} three`]),
  );
}

function count(path: string, sql: string): number {
  return edit(path, (db) => db.prepare<[], number>(`SELECT count(*) FROM ${sql}`).pluck().get() ?? -1);
}

/** Generations, and tables of words and vectors, that are in the file. */
function leftIn(path: string): { generations: number; words: number; vectors: number; files: number; chunks: number } {
  const tables = (pattern: string): number =>
    count(path, `sqlite_schema WHERE type = 'table' AND name GLOB '${pattern}'`);
  return {
    generations: count(path, "generations"),
    words: tables("chunks_fts_[0-9]"),
    vectors: tables("chunks_codes_[0-9]"),
    files: count(path, "files"),
    chunks: count(path, "chunks"),
  };
}

test.each([
  ["with codes", { enabled: true }],
  ["without", off],
])(
  "nothing of a build that is being made is found, listed or counted until it takes over, and then nothing else, %s",
  async (_, vector) => {
    const store = await open(await tempPath(), { vector });
    const scope = { within: [""], without: ["none/"] };
    const inScope = async (): Promise<string[]> => {
      const query = { space, vector: vectorOf("new word", 16), sources: ["memory", "sessions"], scope, limit: 9 };
      return (await store.searchVector(query)).rows.map(({ text }) => text).toSorted();
    };
    await store.replaceFiles([fileOf("a.md", ["old word"]), fileOf("b.md", ["old other", "gone word"])]);
    await store.useSpace(space);
    await embedAll(store, space);
    const before = await store.stats();
    const table = await builds(store).start("recipe 2");
    await table.replaceFiles([fileOf("a.md", ["new word"]), fileOf("c.jsonl", ["new said"], "sessions")]);
    await embedAll(store, space);

    const answer = await store.searchKeyword({
      terms: words("word", "new"),
      sources: ["memory", "sessions"],
      limit: 9,
    });
    expect(answer.rows.map(({ text }) => text).toSorted()).toEqual(["gone word", "old word"]);
    expect([answer.chunkCount, answer.documentFrequencies]).toEqual([3, [2, 0]]);
    expect((await near(store, space, "new word", 9)).toSorted()).toEqual(["gone word", "old other", "old word"]);
    expect(await inScope()).toEqual(["gone word", "old other", "old word"]);
    expect((await store.listFiles()).map(({ path }) => path)).toEqual(["a.md", "b.md"]);
    expect((await table.listFiles()).map(({ path }) => path)).toEqual(["a.md", "c.jsonl"]);
    const { generation, ...counts } = await store.stats();
    expect(counts.sources).toEqual(before.sources);
    expect(generation).toEqual({
      id: 1,
      next: { id: 2, name: "recipe 2", startedAt: expect.any(Number), files: 2, chunks: 2 },
    });

    await builds(store).finish();
    const after = await store.searchKeyword({ terms: words("word", "new"), sources: ["memory", "sessions"], limit: 9 });
    expect(after.rows.map(({ text }) => text).toSorted()).toEqual(["new said", "new word"]);
    expect([after.chunkCount, after.documentFrequencies]).toEqual([2, [1, 2]]);
    expect((await near(store, space, "old word", 9)).toSorted()).toEqual(["new said", "new word"]);
    expect(await inScope()).toEqual(["new said", "new word"]);
    expect((await store.listFiles()).map(({ path }) => path)).toEqual(["a.md", "c.jsonl"]);
    const facts = (await store.stats()).generation;
    expect(facts).toEqual({ id: 2, builtAt: expect.any(Number) });
    expect(Math.abs((facts?.builtAt ?? 0) - Date.now())).toBeLessThan(600_000);
  },
);

test("a store that searches while another one puts a new build in place answers from one of the two, whole", async () => {
  const path = await tempPath();
  const [searching, building] = [await open(path), await open(path)];
  await building.replaceFiles(manyFiles("old", 40));
  await searching.useSpace(space);
  await embedAll(building, space);
  for (let round = 0; round < 3; round++) {
    const table = await builds(building).start(`round ${round}`);
    await table.replaceFiles(manyFiles(`new${round}`, 40));
    await embedAll(building, space);
    const seen = new Set<string>();
    const progress = { isDone: false };
    const flip = builds(building)
      .finish()
      .then(() => (progress.isDone = true));
    do {
      const texts = [await find(searching, "one"), await near(searching, space, "anything", 50)];
      for (const found of texts) {
        expect(found).toHaveLength(found === texts[0] ? 40 : 50);
        const names = new Set(found.map((text) => text.split(" ")[0]));
        expect(names.size, "of one build").toBe(1);
        seen.add([...names].join());
      }
    } while (!progress.isDone);
    await flip;
    expect((await find(searching, "one"))[0]).toMatch(`new${round}`);
    expect((await near(searching, space, "anything", 1))[0]).toMatch(`new${round}`);
    const last = round === 0 ? "old" : `new${round - 1}`;
    for (const name of seen) expect([last, `new${round}`]).toContain(name);
  }
});

test("a build is gone on with under its name, after its process has ended too; under another name it begins anew", async () => {
  const path = await tempPath();
  const first = await open(path);
  await first.replaceFiles([fileOf("a.md", ["old"])]);
  await (await builds(first).start("one")).replaceFiles([fileOf("a.md", ["new a"])]);
  await first.close();

  const second = await open(path);
  expect((await second.stats()).generation?.next).toMatchObject({ name: "one", files: 1 });
  const table = await builds(second).start("one");
  expect(await table.listFiles()).toHaveLength(1);
  await table.replaceFiles([fileOf("b.md", ["new b"])]);
  expect((await second.stats()).generation?.next).toMatchObject({ name: "one", files: 2, chunks: 2 });

  const other = await builds(second).start("two");
  expect(await other.listFiles()).toEqual([]);
  await expect(table.replaceFiles([fileOf("c.md", ["late"])])).rejects.toMatchObject({ code: "BUSY" });
  await expect(table.listFiles()).rejects.toMatchObject({ code: "BUSY" });
  expect(await find(second, "old", "new")).toEqual(["old"]);
  await other.replaceFiles([fileOf("a.md", ["newest"])]);
  await builds(second).finish();
  expect(await find(second, "old", "new", "newest")).toEqual(["newest"]);
});

test("a build that is abandoned leaves the one that answers as it is, and its own traces go", async () => {
  const path = await tempPath();
  const store = await open(path);
  await store.replaceFiles([fileOf("a.md", ["old"])]);
  await builds(store).abandon();
  await (await builds(store).start("one")).replaceFiles(manyFiles("new", 5));
  await builds(store).abandon();
  await expect(builds(store).finish()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  expect((await store.stats()).generation).toEqual({ id: 1 });
  expect(await find(store, "old", "new")).toEqual(["old"]);
  await store.close();
  expect(leftIn(path)).toEqual({ generations: 1, words: 1, vectors: 0, files: 1, chunks: 1 });
});

test("a build that another process has ended is not written to, and does not take the place of the other's", async () => {
  const path = await tempPath();
  const [one, two] = [await open(path), await open(path)];
  await one.replaceFiles([fileOf("a.md", ["old"])]);
  const table = await builds(one).start("one");
  await (await builds(two).start("two")).replaceFiles([fileOf("a.md", ["new"])]);
  await expect(table.removeFiles([fileOf("a.md", [])])).rejects.toMatchObject({ code: "BUSY" });
  await expect(builds(one).finish()).rejects.toMatchObject({ code: "BUSY" });
  await builds(two).finish();
  await expect(table.touchFiles([fileOf("a.md", [])])).rejects.toMatchObject({ code: "BUSY" });
  expect(await find(one, "old", "new")).toEqual(["new"]);
});

test("changes go into the build that answers, whichever process has put it there", async () => {
  const path = await tempPath();
  const [one, two] = [await open(path), await open(path)];
  await one.replaceFiles([fileOf("a.md", ["old a"]), fileOf("b.md", ["old b"])]);
  await (await builds(two).start("two")).replaceFiles([fileOf("a.md", ["new a"]), fileOf("b.md", ["new b"])]);
  await one.replaceFiles([fileOf("a.md", ["old a, edited"])]);
  expect((await find(one, "a", "b", "edited")).toSorted()).toEqual(["old a, edited", "old b"]);
  await builds(two).finish();
  await one.removeFiles([{ path: "b.md", source: "memory" }]);
  await one.replaceFiles([fileOf("c.md", ["new c"])]);
  await one.touchFiles([{ ...fileOf("a.md", []), mtimeMs: 77 }]);
  expect((await find(two, "a", "b", "c", "new", "old")).toSorted()).toEqual(["new a", "new c"]);
  expect((await two.listFiles()).map(({ path: name, mtimeMs }) => [name, mtimeMs])).toEqual([
    ["a.md", 77],
    ["c.md", 1.5],
  ]);
});

test("the old build is deleted in small steps, which a process that was killed leaves to the next that writes", async () => {
  const path = await tempPath();
  const first = openHere(path);
  first.replaceFiles(manyFiles("old", 700));
  first.useSpace(space);
  const hashes = first.pendingVectors(space, 5000).map(({ hash }) => hash);
  first.putVectors(
    space,
    hashes.map((hash) => ({ hash, vector: vectorOf("x", 16) })),
  );
  const build = first.buildStart("two");
  first.nextReplaceFiles(build, manyFiles("new", 10));
  first.buildFinish();
  const full = { generations: 2, words: 2, vectors: 2, files: 710, chunks: 2130 };
  expect(leftIn(path)).toEqual(full);
  for (let step = 0; step < 3; step++) expect(await first.tidy()).toBe(true);
  // As a killed process leaves it: its connection is never closed.
  const one = leftIn(path);
  expect(one).toMatchObject({ generations: 2, words: 1, vectors: 1 });
  expect([one.chunks, one.files < full.files]).toEqual([full.chunks - 200, true]);

  const reading = openHere(path);
  expect(reading.searchKeyword({ terms: words("one"), sources: ["memory"], limit: 99 }).rows).toHaveLength(10);
  expect(await reading.tidy()).toBe(false);
  expect(leftIn(path)).toEqual(one);
  reading.replaceFiles([fileOf("extra.md", ["extra"])]);
  const steps: number[] = [];
  for (let before = count(path, "chunks"); await reading.tidy();) {
    const left = count(path, "chunks");
    steps.push(before - left);
    before = left;
  }
  expect(Math.max(...steps)).toBe(200);
  const chunks = 10 * 3 + 1;
  expect(leftIn(path)).toEqual({ generations: 1, words: 1, vectors: 1, files: 11, chunks });
  expect(reading.stats()).toMatchObject({ files: 11, chunks, cachedVectors: 2100, generation: { id: 2 } });
  reading.close();
  first.close();
  edit(path, (db) => expect(db.pragma("integrity_check", { simple: true })).toBe("ok"));
});

test("deleting the old build does not wait for another process that writes, and goes on when it is done", async () => {
  const path = await tempPath();
  // Longer than a test may take.
  const store = openHere(path, { busyTimeoutMs: 90_000 });
  store.replaceFiles(manyFiles("old", 5));
  store.buildStart("two");
  store.buildFinish();
  const other = new Database(path);
  try {
    other.exec("BEGIN IMMEDIATE");
    expect(await store.tidy()).toBe(false);
    expect(store.searchKeyword({ terms: words("one"), sources: ["memory"], limit: 9 }).rows).toEqual([]);
  } finally {
    other.close();
  }
  while (await store.tidy());
  expect(leftIn(path)).toEqual({ generations: 1, words: 1, vectors: 0, files: 0, chunks: 0 });
  store.close();
});

test("codes are dropped with their build by whoever tidies, whatever compares vectors there", async () => {
  const path = await tempPath();
  const withCodes = openHere(path);
  withCodes.replaceFiles(manyFiles("old", 5));
  withCodes.useSpace(space);
  withCodes.close();
  const without = openHere(path, { enabled: false });
  const build = without.buildStart("two");
  without.nextReplaceFiles(build, [fileOf("a.md", ["new"])]);
  without.buildFinish();
  expect(leftIn(path)).toMatchObject({ generations: 2, vectors: 1 });
  while (await without.tidy());
  expect(leftIn(path)).toEqual({ generations: 1, words: 1, vectors: 0, files: 1, chunks: 1 });
  without.close();
});

test("vectors are laid out while the build is made, so that the first search after it takes over finds them there", async () => {
  const path = await tempPath();
  const store = await open(path);
  await store.replaceFiles([fileOf("a.md", ["one", "two"])]);
  await store.useSpace(space);
  await embedAll(store, space);
  const table = await builds(store).start("two");
  await table.replaceFiles([fileOf("a.md", ["two", "three"]), fileOf("b.md", ["four"], "sessions")]);
  expect(await pendingTexts(store, space)).toEqual(["four", "three"]);
  expect(count(path, "chunks_codes_2_places")).toBe(1);
  await embedAll(store, space);
  expect([count(path, "chunks_codes_1_places"), count(path, "chunks_codes_2_places")]).toEqual([2, 3]);
  await table.removeFiles([{ path: "b.md", source: "sessions" }]);
  expect(count(path, "chunks_codes_2_places")).toBe(2);
  await builds(store).finish();
  const laidOut = edit(path, (db) => db.prepare("SELECT value FROM meta WHERE key = 'vector_space:2'").pluck().get());
  expect(laidOut).toBe("1");
  expect(await near(store, space, "three", 1)).toEqual(["three"]);
  expect((await near(store, space, "three")).toSorted()).toEqual(["three", "two"]);
  // Kept in step after it, too.
  await store.replaceFiles([fileOf("c.md", ["one"])]);
  expect(await near(store, space, "one", 1)).toEqual(["one"]);
});

test("a build that a process without codes has made is laid out at the first search by meaning, which is right", async () => {
  const path = await tempPath();
  const searching = await open(path);
  await searching.replaceFiles([fileOf("a.md", ["one", "two"])]);
  await searching.useSpace(space);
  await embedAll(searching, space);
  const building = await open(path, { vector: off });
  await (await builds(building).start("two")).replaceFiles([fileOf("a.md", ["two", "three"])]);
  await embedAll(building, space);
  await builds(building).finish();
  expect(await near(searching, space, "three", 1)).toEqual(["three"]);
  expect((await near(searching, space, "one")).toSorted()).toEqual(["three", "two"]);
  expect(count(path, "chunks_codes_2_places")).toBe(2);
});

test("texts of both builds are pending, each once, those of the build that answers first", async () => {
  const store = await open(await tempPath());
  await store.replaceFiles([fileOf("a.md", ["b", "c"])]);
  await (await builds(store).start("two")).replaceFiles([fileOf("a.md", ["a", "c", "d"])]);
  expect(await pendingTexts(store, space)).toEqual(["a", "b", "c", "d"]);
  const answering = (await store.pendingVectors(space, 2)).map(({ text }) => text);
  expect(answering.toSorted()).toEqual(["b", "c"]);
  expect((await store.pendingVectors(space, 3)).slice(0, 2).map(({ text }) => text)).toEqual(answering);
  expect(await store.spaceStats(space)).toEqual({ embedded: 0, pending: 2, quarantined: 0, nextPending: 3 });
  await store.putVectors(space, [{ hash: sha256("c"), vector: vectorOf("c", 16) }]);
  await store.quarantine(space, [
    { hash: sha256("b"), reason: "no" },
    { hash: sha256("d"), reason: "no" },
  ]);
  expect(await pendingTexts(store, space)).toEqual(["a"]);
  expect(await store.spaceStats(space)).toEqual({ embedded: 1, pending: 0, quarantined: 1, nextPending: 1 });
  expect((await store.quarantined(space, 9)).map(({ hash }) => hash)).toEqual([sha256("b")]);
  await builds(store).finish();
  expect(await store.spaceStats(space)).toEqual({ embedded: 1, pending: 1, quarantined: 1 });
  expect((await store.quarantined(space, 9)).map(({ hash }) => hash)).toEqual([sha256("d")]);
});

test("a text that was refused is forgotten with its build, before that is deleted", async () => {
  const store = openHere(await tempPath());
  store.replaceFiles([fileOf("a.md", ["refused", "kept"])]);
  store.nextReplaceFiles(store.buildStart("two"), [fileOf("a.md", ["kept"])]);
  store.quarantine(
    space,
    ["refused", "kept"].map((text) => ({ hash: sha256(text), reason: "no" })),
  );
  store.buildFinish();
  store.replaceFiles([fileOf("a.md", ["refused", "kept"])]);
  expect(store.pendingVectors(space, 9).map(({ text }) => text)).toEqual(["refused"]);
  store.close();
});

test("vectors of both builds are kept, those of the old one leave when it is gone", async () => {
  const path = await tempPath();
  const store = openHere(path, { enabled: false, cacheMaxEntries: 1 });
  const put = (...texts: string[]): void =>
    store.putVectors(
      space,
      texts.map((text) => ({ hash: sha256(text), vector: vectorOf(text, 16) })),
    );
  const known = (...texts: string[]): number => store.knownVectors(space, texts.map(sha256)).length;
  store.replaceFiles([fileOf("a.md", ["old 1", "old 2"])]);
  store.nextReplaceFiles(store.buildStart("two"), [fileOf("a.md", ["new 1", "new 2"])]);
  store.useSpace(space);
  put("old 1", "old 2", "new 1", "new 2", "nobody's");
  expect([known("old 1", "old 2"), known("new 1", "new 2"), known("nobody's")]).toEqual([2, 2, 0]);
  store.buildFinish();
  while (await store.tidy());
  put("nobody's");
  expect([known("old 1", "old 2"), known("new 1", "new 2"), known("nobody's")]).toEqual([0, 2, 0]);
  store.close();
});

test("the revision changes with what answers and with nothing else, for every process", async () => {
  const path = await tempPath();
  const [here, there] = [await open(path), await open(path)];
  const file = fileOf("a.md", ["one"]);
  let last = await revisionOf(here);
  async function changes(work: () => Promise<unknown>): Promise<boolean> {
    await work();
    const revision = await revisionOf(there);
    expect(await revisionOf(here)).toBe(revision);
    const isNew = revision !== last;
    last = revision;
    return isNew;
  }
  expect(await changes(() => here.replaceFiles([file]))).toBe(true);
  expect(await changes(() => there.touchFiles([{ ...file, mtimeMs: 9 }]))).toBe(true);
  expect(await changes(() => here.replaceFiles([]))).toBe(false);
  expect(await changes(() => find(here, "one"))).toBe(false);
  expect(await changes(() => embedAll(here, space))).toBe(false);
  const table = await builds(here).start("two");
  expect(await changes(() => table.replaceFiles([file, fileOf("b.md", ["two"])]))).toBe(false);
  expect(await changes(() => table.removeFiles([file]))).toBe(false);
  expect(await changes(() => builds(here).finish())).toBe(true);
  expect(await changes(() => there.removeFiles([fileOf("b.md", [])]))).toBe(true);
  await builds(there).start("three");
  expect(await changes(() => builds(there).abandon())).toBe(false);
});

test("a search that fails leaves nothing behind that the next one stumbles over", async () => {
  const path = await tempPath();
  const store = await open(path);
  await store.replaceFiles([fileOf("a.md", ["word"])]);
  // Breaks within the transaction in which the first search has made its own tables.
  const wrong = { terms: words("word"), sources: ["memory"], limit: {} as number };
  await expect(store.searchKeyword(wrong)).rejects.toThrow(/bind/u);
  expect(await find(store, "word")).toEqual(["word"]);
});

test("without FTS5 a build is made and put in place all the same", async () => {
  const store = await open(await tempPath(), { disableFts: true });
  await store.replaceFiles([fileOf("a.md", ["old"])]);
  await (await builds(store).start("two")).replaceFiles([fileOf("a.md", ["new", "newer"])]);
  await builds(store).finish();
  const { rows, chunkCount } = await store.searchKeyword({ terms: words("new"), sources: ["memory"], limit: 5 });
  expect([rows, chunkCount]).toEqual([[], 2]);
  await store.useSpace(space);
  await embedAll(store, space);
  expect(await near(store, space, "newer", 1)).toEqual(["newer"]);
});
