import { existsSync } from "node:fs";
import { openDatabaseStore } from "@memslot/indexing/ledger-tables";
import { eventually } from "@memslot/test-tools/wait";
import { expect, test } from "vitest";
import {
  numbered,
  anyVector,
  edit,
  embedAll,
  fileOf,
  near,
  open,
  openWith,
  spaceOf,
  tempPath,
  vectorOf,
  sha256,
  openHere,
  words,
  valueIn,
  pendingTexts,
} from "../test/stores.ts";
import type { NoteIndex } from "@memslot/indexing";

const off = { enabled: false };
const space = spaceOf("m");

function vectorCount(path: string): number {
  return edit(path, (db) => db.prepare<[], number>("SELECT count(*) FROM chunks_codes_1_places").pluck().get() ?? -1);
}

test("what compares vectors is loaded when a space is used or searched, not before", async () => {
  const { store } = await openWith([fileOf("a.md", ["word"])]);
  await embedAll(store, space);
  await store.spaceStats(space);
  expect(store.health().vector).toStrictEqual({ enabled: true });
  await store.searchVector(anyVector);
  expect(store.health().vector).toStrictEqual({ enabled: true, available: true, engine: "wasm" });
  const other = await open(await tempPath(), { vector: { enabled: true, engine: "sqlite-vec" } });
  await other.useSpace(space);
  expect(other.health().vector).toStrictEqual({
    enabled: true,
    available: true,
    engine: "sqlite-vec",
    extensionPath: expect.stringContaining("vec0") as string,
  });
});

test("an index whose vectors are laid out is recorded when nothing is asked of it", async () => {
  const { path, store } = await openWith([fileOf("a.md", ["one", "two"])]);
  await embedAll(store, space, { use: true });
  const isRecorded = (): boolean => existsSync(`${path}-sum`);
  await eventually(isRecorded, "the file is recorded");
  expect(isRecorded()).toBe(true);
});

test("switched off it is not loaded, without a notice", async () => {
  const store = await open(await tempPath(), { vector: off });
  await store.searchVector(anyVector);
  await store.replaceFiles([fileOf("a.md", ["one", "two"])]);
  await embedAll(store, space, { use: true });
  expect(await near(store, space, "two", 1)).toEqual(["two"]);
  expect(store.health()).toMatchObject({ vector: { enabled: false }, notices: [] });
  expect(store.health().vector.available).toBeUndefined();
});

test("what a process that compares otherwise changes is right for one that has laid codes out", async () => {
  const { path, store: withCodes } = await openWith([fileOf("a.md", ["one", "two"]), fileOf("b.md", ["three"])]);
  await embedAll(withCodes, space, { use: true });
  const without = await open(path, { vector: off });
  await without.removeFiles([{ path: "b.md", source: "memory" }]);
  await without.replaceFiles([fileOf("c.md", ["four", "five"])]);
  await embedAll(without, space);
  expect((await near(withCodes, space, "four")).toSorted()).toEqual(["five", "four", "one", "two"]);
  expect(await near(withCodes, space, "five", 1)).toEqual(["five"]);
  expect(vectorCount(path)).toBe(4);
});

test("vectors are handed over as copies: the caller's stay as they are, parts of a larger buffer too", async () => {
  const { store } = await openWith([fileOf("a.md", ["one", "two"])]);
  await store.useSpace(space);
  const large = new Float32Array(1000).fill(7);
  const pending = await store.pendingVectors(space, 5);
  const entries = pending.map(({ hash, text }, index) => {
    large.set(vectorOf(text), index * 8);
    return { hash, vector: large.subarray(index * 8, index * 8 + 8) };
  });
  await store.putVectors(space, entries);
  const query = large.subarray(0, 8);
  const { rows } = await store.searchVector({ space, vector: query, sources: ["memory"], limit: 1 });
  expect(rows[0]?.text).toBe(pending[0]?.text);
  expect(rows[0]?.score).toBeCloseTo(1, 5);
  expect([large.length, large[999], query.length]).toEqual([1000, 7, 8]);
});

const first = spaceOf("first", 16);
const second = spaceOf("second", 16);

/** The space that is laid out for fast search, by its model. */
function laidOut(path: string): unknown {
  const question = "SELECT model FROM spaces WHERE id = (SELECT value FROM meta WHERE key = 'vector_space:1')";
  return valueIn(path, question);
}

test("two processes that use different spaces never meet each other's vectors", async () => {
  const { path, store: one } = await openWith([fileOf("a.md", numbered("text", 400))]);
  await embedAll(one, first, { use: true });
  const two = await open(path);
  await two.useSpace(second);
  expect(await near(two, second, "text 1", 5)).toEqual([]);
  const pending = await two.pendingVectors(second, 1000);
  // There, each text has the vector that the one after it has here.
  await two.putVectors(
    second,
    pending.map(({ hash, text }) => ({ hash, vector: vectorOf(`text ${(Number(text.slice(5)) + 1) % 400}`, 16) })),
  );
  for (let round = 0; round < 3; round++) {
    for (const wanted of [7, 77, 277]) {
      for (const store of [one, two]) {
        expect(await near(store, first, `text ${wanted}`, 1)).toEqual([`text ${wanted}`]);
        expect(await near(store, second, `text ${wanted}`, 1)).toEqual([`text ${wanted - 1}`]);
      }
    }
    await (round === 0 ? one : two).replaceFiles([fileOf(`${round}.md`, [`extra ${round}`])]);
  }
  expect(laidOut(path)).toBe("second");
  await one.useSpace(first);
  expect(laidOut(path)).toBe("first");
});

test("the space that was written to last is listed first, also when the clock was set back since", async () => {
  const path = await tempPath();
  for (const [index, space] of [first, second, first].entries()) {
    const store = await open(path);
    await store.putVectors(space, [{ hash: sha256(`text ${index}`), vector: vectorOf("x", 16) }]);
    expect((await store.spaces())[0]?.space).toEqual(space);
    await store.close();
    edit(path, (db) => db.exec("UPDATE spaces SET written_at = written_at + 1000000000"));
  }
});

const ledgerOf = (path: string) =>
  openDatabaseStore({ path, store: "memory-other", cacheMaxEntries: 1000, busyTimeoutMs: 1000 });

test("a vector that another store in the file has put in is found by the fast layout, too", async () => {
  const path = await tempPath();
  const store = openHere(path);
  store.replaceFiles([fileOf("a.md", ["known", "late"])]);
  store.putVectors(space, [{ hash: sha256("known"), vector: vectorOf("known") }]);
  store.useSpace(space);
  const other = ledgerOf(path);
  other.replaceFiles([fileOf("z.md", ["late"])]);
  other.putVectors(space, [{ hash: sha256("late"), vector: vectorOf("late") }]);
  const query = { space, vector: vectorOf("late"), sources: ["memory"], limit: 1 };
  expect(store.searchVector(query).rows).toMatchObject([{ text: "late", path: "a.md" }]);
});

test("words of another store are not found, and its files are no damage", async () => {
  const path = await tempPath();
  const other = ledgerOf(path);
  other.replaceFiles([fileOf("z.md", ["common word"])]);
  const store = openHere(path);
  expect(store.health().notices).toEqual([]);
  store.replaceFiles([fileOf("a.md", ["word"])]);
  other.replaceFiles([fileOf("y.md", ["word again"])]);
  const query = { terms: words("word"), sources: ["memory"], limit: 9 };
  expect(store.searchKeyword(query).rows.map(({ path: name }) => name)).toEqual(["a.md"]);
  expect(store.searchKeyword(query).chunkCount).toBe(1);
});

const other = spaceOf("other");

async function cached(store: NoteIndex): Promise<number> {
  return (await store.stats()).cachedVectors;
}

async function kept(store: NoteIndex, given: readonly string[]): Promise<string[]> {
  const known = await store.knownVectors(space, given.map(sha256));
  return given.filter((text) => known.includes(sha256(text)));
}

/** Puts a text in, gives it its vector, and takes it out again. */
async function pass(store: NoteIndex, text: string): Promise<void> {
  await store.replaceFiles([fileOf("passing.md", [text])]);
  await embedAll(store, space);
  await store.removeFiles([{ path: "passing.md", source: "memory" }]);
}

test("what was used longest ago leaves the cache first; going and coming back are uses", async () => {
  const store = await open(await tempPath(), { cacheMaxEntries: 4 });
  const all = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
  for (const text of ["one", "two", "three", "four"]) await pass(store, text);
  expect(await kept(store, all)).toEqual(["one", "two", "three", "four"]);
  // Found again for a new chunk.
  await store.replaceFiles([fileOf("b.md", ["one"])]);
  await pass(store, "five");
  expect(await kept(store, all)).toEqual(["one", "three", "four", "five"]);
  await store.removeFiles([{ path: "b.md", source: "memory" }]);
  for (const text of ["six", "seven", "eight"]) await pass(store, text);
  expect(await kept(store, all)).toEqual(["one", "six", "seven", "eight"]);
});

test("a use counts in every space that has the vector", async () => {
  const { path, store } = await openWith([fileOf("a.md", ["one", "two"])]);
  await embedAll(store, space);
  await embedAll(store, other);
  edit(path, (db) => db.exec("UPDATE embedding_cache SET used_at = 5"));
  await store.replaceFiles([fileOf("b.md", ["one"])]);
  const used = "SELECT count(*) FROM embedding_cache WHERE used_at > 5";
  expect(valueIn(path, used)).toBe(2);
});

test("renaming and moving a file and undoing an edit ask for no vector, with no room in the cache but one", async () => {
  const store = await open(await tempPath(), { cacheMaxEntries: 1 });
  await store.useSpace(space);
  await store.replaceFiles([fileOf("a.md", ["one", "two"])]);
  await embedAll(store, space);
  await store.replaceFiles([fileOf("renamed.md", ["one", "two"])]);
  await store.removeFiles([{ path: "a.md", source: "memory" }]);
  expect(await pendingTexts(store, space)).toEqual([]);
  await store.replaceFiles([fileOf("moved.jsonl", ["one", "two"], "sessions")]);
  await store.removeFiles([{ path: "renamed.md", source: "memory" }]);
  expect(await pendingTexts(store, space)).toEqual([]);
  await store.replaceFiles([fileOf("moved.jsonl", ["one"], "sessions")]);
  await store.replaceFiles([fileOf("moved.jsonl", ["one", "two"], "sessions")]);
  expect(await pendingTexts(store, space)).toEqual([]);
  expect((await near(store, space, "two")).toSorted()).toEqual(["one", "two"]);
});

test.each([["useSpace"], ["searchVector"]])(
  "without a cache, a space that answers (%s) keeps its vectors while another one is being filled",
  async (call) => {
    const { path, store: before } = await openWith([fileOf("a.md", numbered("text", 40))], { cacheMaxEntries: 0 });
    await embedAll(before, space);
    await before.close();
    const store = await open(path, { cacheMaxEntries: 0 });
    if (call === "useSpace") await store.useSpace(space);
    else expect(await near(store, space, "text 3", 1)).toEqual(["text 3"]);
    for (let round = 0; round < 4; round++) {
      const pending = await store.pendingVectors(other, 10);
      await store.putVectors(
        other,
        pending.map(({ hash, text }) => ({ hash, vector: vectorOf(text) })),
      );
      expect(await near(store, space, "text 3", 50)).toHaveLength(40);
    }
    expect(await cached(store)).toBe(80);
    await store.replaceFiles([fileOf("a.md", ["text 0"])]);
    await store.close();
    expect(await cached(await open(path))).toBe(2);
  },
);

test("vectors of a space that this process does not use leave in the order of their last use, live or not", async () => {
  const { path, store: before } = await openWith([fileOf("a.md", numbered("text", 10))]);
  await embedAll(before, space);
  await before.replaceFiles([fileOf("a.md", numbered("text", 4))]);
  await before.close();
  const store = await open(path, { cacheMaxEntries: 8 });
  await embedAll(store, other);
  expect(await store.spaceStats(other)).toEqual({ embedded: 4, pending: 0, quarantined: 0 });
  expect(await cached(store)).toBe(8);
  await store.replaceFiles([fileOf("b.md", ["new"])]);
  await embedAll(store, other);
  expect((await store.spaces()).map(({ vectors }) => vectors)).toEqual([5, 3]);
});

test("a space that loses vectors to another process still gives all that it has left", async () => {
  const { path, store: first } = await openWith([fileOf("a.md", numbered("text", 400))], { cacheMaxEntries: 420 });
  const second = await open(path);
  await embedAll(second, other, { use: true });
  expect(await near(second, other, "text 5", 1)).toEqual(["text 5"]);
  await embedAll(first, space);
  expect(await first.spaceStats(space)).toEqual({ embedded: 400, pending: 0, quarantined: 0 });
  expect(await second.spaceStats(other)).toEqual({ embedded: 20, pending: 380, quarantined: 0 });
  expect(await near(second, other, "anything", 400)).toHaveLength(20);
  const without = await open(path, { vector: { enabled: false } });
  for (const query of ["anything", "text 3", "text 300"]) {
    expect(await near(second, other, query, 3)).toEqual(await near(without, other, query, 3));
  }
  expect(await cached(second)).toBe(420);
});

test("a process that uses no space deletes no vector, however many there are too much", async () => {
  const { path, store: before } = await openWith([fileOf("a.md", numbered("text", 10))]);
  await embedAll(before, space);
  await before.close();
  const store = await open(path, { cacheMaxEntries: 0 });
  await store.replaceFiles([fileOf("b.md", ["word"])]);
  await store.spaceStats(space);
  await store.close();
  expect(await cached(await open(path))).toBe(10);
});

test("a space that begins to be searched while its vectors leave keeps those that are left", async () => {
  const path = await tempPath();
  const texts = numbered("live", 1500);
  const before = openHere(path, { cacheMaxEntries: 0 });
  before.replaceFiles([fileOf("a.md", texts)]);
  before.putVectors(
    space,
    texts.map((text) => ({ hash: sha256(text), vector: vectorOf("x") })),
  );
  before.close();
  const store = openHere(path, { cacheMaxEntries: 0 });
  store.putVectors(spaceOf("other"), [{ hash: sha256("live 0"), vector: vectorOf("x") }]);
  expect(store.stats().cachedVectors).toBe(501);
  const query = { space, vector: vectorOf("x"), sources: ["memory"], limit: 1000 };
  expect(store.searchVector(query).rows).toHaveLength(500);
  while (await store.tidy());
  expect(store.searchVector(query).rows).toHaveLength(500);
});

test("a process that changes files and searches nothing keeps the codes in step", async () => {
  const path = await tempPath();
  const first = await open(path);
  await first.replaceFiles([fileOf("a.md", ["one", "two"]), fileOf("b.md", ["three"])]);
  await embedAll(first, space, { use: true });
  await first.close();
  const second = await open(path);
  await second.removeFiles([{ path: "b.md", source: "memory" }]);
  await second.replaceFiles([fileOf("a.md", ["one"]), fileOf("c.md", ["three", "four"])]);
  await second.putVectors(space, [{ hash: fileOf("c.md", ["four"]).chunks[0]?.hash ?? "", vector: vectorOf("four") }]);
  await second.close();
  expect(valueIn(path, "SELECT value FROM meta WHERE key = 'vector_space:1'")).toBe("1");
  expect(vectorCount(path)).toBe(3);
  const third = await open(path);
  await third.useSpace(space);
  expect(await near(third, space, "four")).toHaveLength(3);
  expect(await near(third, space, "four", 1)).toEqual(["four"]);
});
